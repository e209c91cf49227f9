/** All that is known about one token. */

import type { Alternative } from "../../../api/types.gen";
import { useSession } from "../../../state/useSession";
import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { exact, score, signed } from "../../../lib/numbers/numbers";
import { harmless } from "../../../lib/text/invisible";
import { exceeded } from "../../../lib/tokens/masks";
import { escaped, textOf } from "../../../lib/tokens/sample/readable";
import type { TokenSample } from "../../../lib/tokens/sample/tokenSample";
import { chooseTokens, tokenChoice } from "../../../state/browser/tokenView";
import type { Mask } from "../../../state/tokens/masks";
import { NARROW } from "../../../ui/hooks/useMatch";
import { EFFECTS, TAKEN_OUT } from "../update/updatePaint";
import { cut, Head } from "./Head";
import { advantageOf, ADVANTAGES, type Line, linesOf, signOf, updateWords } from "./lines";
import { type ElementOf, put } from "./place";
import { closeUp, valueOf } from "./words";
import style from "./Card.module.css";

/** More rows take two columns. */
const ROWS = 10;
/** Text that comes into view is laid out a frame later, which may move a token under its card again. */
const SETTLE_FRAMES = 4;

interface Props {
  tokens: TokenSample;
  elementOf: ElementOf;
  /** True to keep folded sections closed. */
  shown: ElementOf;
  scroller: RefObject<HTMLElement | null>;
}

export function Card({ tokens, elementOf, shown, scroller }: Props) {
  const { tokenLook: look, tokenAlternatives, tokenUpdate } = useSession();
  const [alternatives, error] = [tokenAlternatives.now.value, tokenAlternatives.error.value];
  const at = look.current.value;
  const card = useRef<HTMLDivElement>(null);
  const [isExact, showExact] = useState(false);
  useEffect(() => {
    const close = (event: KeyboardEvent): void => {
      const isInField = event.target instanceof Element && event.target.closest("input, select, dialog") !== null;
      if (event.key === "Escape" && !event.defaultPrevented && !isInField && at !== null) look.leave();
    };
    addEventListener("keydown", close);
    return () => removeEventListener("keydown", close);
  });
  useLayoutEffect(() => {
    const [element, pane] = [card.current, scroller.current];
    if (element === null || pane === null || at === null) return undefined;
    let frame = 0;
    let frames = matchMedia(NARROW).matches ? SETTLE_FRAMES : 1;
    const place = (): void => {
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(() => {
        put(element, at.token, { elementOf, shown }, pane, frames > 0);
        frames -= 1;
        if (frames > 0) place();
      });
    };
    place();
    const moved = (): void => {
      if (at.by === "pointer") look.current.value = null;
      else place();
    };
    addEventListener("scroll", moved, { capture: true, passive: true });
    addEventListener("resize", place);
    const panes = new ResizeObserver(place); // the list beside the tokens opens and closes
    panes.observe(pane);
    return () => {
      panes.disconnect();
      cancelAnimationFrame(frame);
      removeEventListener("scroll", moved, { capture: true });
      removeEventListener("resize", place);
    };
  });
  if (at === null) return null;
  const isPinned = at.by !== "pointer";
  const { lines, rest } = linesOf(tokens, at.token, look.drawn.value?.series ?? null);
  const isMore = rest.length > 0 && tokenChoice.value.isMore;
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions, jsx-a11y/click-events-have-key-events
    <div
      class={style["card"]}
      ref={card}
      role="tooltip"
      data-many={Math.max(isMore ? rest.length : 0, alternatives.length) > ROWS}
      data-pinned={isPinned}
      onClick={(event) => event.stopPropagation()}
    >
      <button type="button" class={`action ${style["close"]}`} aria-label="Close the card" onClick={() => look.leave()}>
        ×
      </button>
      <Head tokens={tokens} token={at.token} />
      <dl>
        {lines.map((line) => (
          <LineView key={line.title} line={line} token={at.token} isExact={isExact && isMore} isPinned={isPinned} />
        ))}
        {!tokenUpdate.isShown.value && <UpdateLine tokens={tokens} token={at.token} />}
      </dl>
      {tokenUpdate.isShown.value ? <Effects token={at.token} /> : <Verdicts tokens={tokens} token={at.token} />}
      {isMore && (
        <dl class={style["rest"]} aria-label="More values">
          {rest.map(({ name, title, about, values }) => (
            <div key={name} title={harmless(about)}>
              <dt>{harmless(title || name)}</dt>
              <dd title={isPinned ? exact(values[at.token]) : undefined}>{closeUp(name, values[at.token], isExact)}</dd>
            </div>
          ))}
        </dl>
      )}
      {isPinned && rest.length > 0 && (
        <div class={style["choices"]}>
          {isMore && (
            <button type="button" class="action" aria-pressed={isExact} onClick={() => showExact(!isExact)}>
              All digits
            </button>
          )}
          <button type="button" class="action" aria-expanded={isMore} onClick={() => chooseTokens({ isMore: !isMore })}>
            {isMore ? "Less" : "More"}
          </button>
        </div>
      )}
      {alternatives.length > 0 && <Alternatives tokens={tokens} alternatives={alternatives} />}
      {error !== null && <p class="quiet">Alternatives: {harmless(error.message)}</p>}
    </div>
  );
}

interface LineProps {
  line: Line;
  token: number;
  isExact: boolean;
  isPinned: boolean;
}

function LineView({ line: { title, series }, token, isExact, isPinned }: LineProps) {
  const { tokenLook: look } = useSession();
  const current = look.drawn.value?.series.name;
  const all = (of: (name: string, value: number | undefined) => string): string =>
    series.map(({ name, values }) => of(name, values[token])).join(" · ");
  const sign = series.some(({ name }) => ADVANTAGES.includes(name)) ? signOf(series[0]?.values[token]) : undefined;
  return (
    <div
      title={harmless(series.map(({ about }) => about).join("; "))}
      data-current={series.some(({ name }) => name === current)}
    >
      <dt>{harmless(title)}</dt>
      <dd data-sign={sign} title={isPinned ? all((_, value) => exact(value)) : undefined}>
        {all((name, value) => (isExact ? closeUp(name, value, true) : valueOf(name, value)))}
      </dd>
    </div>
  );
}

/** What the step would do to the token, in words. */
function UpdateLine({ tokens, token }: { tokens: TokenSample; token: number }) {
  const words = updateWords(tokens, token, useSession().tokenMasks.chosen.value);
  if (words === "") return null;
  const advantage = tokens.trained[token] === 0 ? undefined : advantageOf(tokens, token);
  return (
    <div title="By the sign of the advantage and the chosen masks; the Update view computes it">
      <dt>This update</dt>
      <dd data-sign={signOf(advantage)}>{harmless(words)}</dd>
    </div>
  );
}

/** What the model could have sampled here, and how likely it was. */
function Alternatives({ tokens, alternatives }: { tokens: TokenSample; alternatives: readonly Alternative[] }) {
  return (
    <dl class={style["alternatives"]} aria-label="Alternatives of the token">
      {alternatives.map(({ text, logprob, is_chosen: isChosen }, place) => {
        const probability = Math.min(1, Math.exp(logprob));
        return (
          // oxlint-disable-next-line react/no-array-index-key -- two of them may have one text
          <div key={place} data-current={isChosen} title={`logprob ${score(logprob)}`}>
            <dt>
              {escaped(cut(textOf({ at: () => text }, 0, tokens.spelling) || text))}
              {isChosen && <small> chosen</small>}
            </dt>
            <dd>
              <i style={{ width: `${probability * 100}%` }} />
              {score(probability)}
            </dd>
          </div>
        );
      })}
    </dl>
  );
}

/** What the step does to the token under each chosen rule. */
function Effects({ token }: { token: number }) {
  const { tokenUpdate: update } = useSession();
  return (
    <dl class={style["verdicts"]}>
      {update.chosen.value.map(({ rule }, place) => {
        const found = update.now.value[place] ?? null;
        if (found === null) return null;
        const [effect, value] = [found.effects[token] ?? 0, found.coefficients[token] ?? 0];
        return (
          <div key={rule.name} data-current={effect === TAKEN_OUT}>
            <dt>{harmless(rule.title)}</dt>
            <dd>
              {EFFECTS[effect]}
              {value !== 0 && ` ${signed(value)}`}
            </dd>
          </div>
        );
      })}
    </dl>
  );
}

/** Why a chosen mask takes the token out. */
function Verdicts({ tokens, token }: { tokens: TokenSample; token: number }) {
  const taken = useSession().tokenMasks.chosen.value.filter(({ flags }) => flags[token] === 1);
  if (taken.length === 0 || tokens.trained[token] === 0) return null;
  return (
    <dl class={style["verdicts"]}>
      {taken.map((mask) => (
        <div key={mask.name}>
          <dt>{harmless(mask.title)}</dt>
          <dd>{verdict(tokens, token, mask)}</dd>
        </div>
      ))}
    </dl>
  );
}

function verdict(tokens: TokenSample, token: number, { rule, bounds }: Mask): string {
  const series = rule === null ? null : tokens.named(rule.series);
  if (series === null) return "masked";
  const value = series.values[token] ?? NaN;
  const bound = exceeded(bounds, value, tokens.named("advantages")?.values[token] ?? null);
  const side = bound?.side === "high" ? "above" : "below";
  return `masked: ${series.title} ${score(value)}, ${side} ${score(bound?.end ?? null)}`;
}
