/**
 * The pane beside the tokens: the worst tokens, the tokens that each rule takes out, and the distribution of values;
 * beside the update, its shares.
 */

import { useSession } from "../../../state/useSession";
import { choose } from "../../../state/browser/settings";
import { count, figure } from "../../../lib/numbers/numbers";
import { harmless } from "../../../lib/text/invisible";
import { agreement } from "../../../lib/tokens/masks";
import { scaleOf, tint, valueAt } from "../../../lib/tokens/scale";
import { distribution } from "../../../lib/tokens/worst";
import type { TokenScale } from "../../../lib/tokens/scale";
import type { Series, TokenSample } from "../../../lib/tokens/sample/tokenSample";
import type { Mask } from "../../../state/tokens/masks";
import { useState } from "preact/hooks";
import { isAlone } from "../../../api";
import { askTokenMasks } from "../../../api";
import { useLoaded } from "../../../ui/hooks/useLoaded";
import { useAfterFrame } from "../../../ui/hooks/useAfterFrame";
import { AGREES } from "../controls/Agreement";
import { UpdateAside } from "../update/UpdateAside";
import { asideTitle } from "./title";
import { Worst } from "./Worst";
import { percent } from "../../../lib/numbers/percent";
import style from "./Aside.module.css";

const BARS = 40;
const OF_STEP = "The share of the step's trained tokens, with the thresholds before you move them";

/** The choices of a frame ago, so that the colours of tokens change first. */
interface Shown {
  tokens: TokenSample;
  series: Series;
  scale: TokenScale;
  range: { from: number; stop: number } | null;
  all: readonly Mask[];
  first: Mask | undefined;
  trained: number;
}

/** `isBelow`: there is no room beside the tokens. */
export function TokensAside({ isBelow = false }: { isBelow?: boolean }) {
  const form = useSession().place.field.tokensAs.value;
  const hide = `Hide the ${asideTitle(form).toLowerCase()}`;
  return (
    <div class={style["aside"]}>
      {!isBelow && (
        <button
          type="button"
          class={`action ${style["hide"]}`}
          aria-label={hide}
          title={hide}
          onClick={() => choose({ rightOpen: false })}
        >
          ›
        </button>
      )}
      {form === "update" ? <UpdateAside /> : <OfSeries />}
    </div>
  );
}

function OfSeries() {
  const { tokens: store, tokenLook: look, tokenMasks: masks } = useSession();
  const [tokens, series, scale, range] = [store.now.value, look.series.value, look.scale.value, look.range.value];
  const [all, [first]] = [masks.all.value, masks.chosen.value];
  const [shown, show] = useState<Shown | null>(null);
  useAfterFrame(() => {
    const isEmpty = tokens === null || series === null || scale === null || tokens.count === 0;
    show(isEmpty ? null : { tokens, series, scale, range, all, first, trained: masks.trained.peek() });
  }, [tokens, series, scale, range, all, first]);
  if (shown === null || shown.tokens !== tokens) return null;
  return (
    <>
      <Worst {...shown} />
      {shown.all.length > 0 && <Rules shown={shown} />}
      {shown.scale.low < shown.scale.high && <Distribution shown={shown} />}
    </>
  );
}

/** The tokens that each rule takes out, and its agreement with the first chosen rule. */
function Rules({ shown: { all, first, trained } }: { shown: Shown }) {
  const ofStep = useSharesOfStep();
  const [isWhole, showWhole] = useState(false);
  const masking = all.filter((mask) => mask.count > 0 || mask === first);
  const idle = all.length - masking.length;
  return (
    <section aria-labelledby="by-rule">
      <h2 id="by-rule">
        By rule <small>share of trained tokens</small>
      </h2>
      <table>
        <thead>
          <tr>
            <th>rule</th>
            <th>masked</th>
            <th>share</th>
            {ofStep.size > 0 && <th title={OF_STEP}>in step</th>}
            {first !== undefined && (
              <th>
                <abbr title={harmless(`With ${first.title}. ${AGREES}`)}>agrees</abbr>
              </th>
            )}
          </tr>
        </thead>
        <tbody>
          {(isWhole ? all : masking).map((mask) => (
            <tr key={mask.name}>
              <td>
                {harmless(mask.title)}{" "}
                <small>{mask.thresholds.map(({ value }) => Number(value.toPrecision(4))).join("/")}</small>
              </td>
              <td>{figure(mask.count)}</td>
              <td>{percent(mask.count / trained)}</td>
              {ofStep.size > 0 && <td>{percent(ofStep.get(mask.name) ?? NaN)}</td>}
              {first !== undefined && <td>{mask === first ? "–" : percent(agreement(first.flags, mask.flags))}</td>}
            </tr>
          ))}
        </tbody>
      </table>
      {idle > 0 && (
        <button
          type="button"
          class={`action ${style["idle"]}`}
          aria-expanded={isWhole}
          onClick={() => showWhole(!isWhole)}
        >
          {isWhole
            ? "Only rules that mask something"
            : `${count(idle, "more rule")} that mask${idle === 1 ? "s" : ""} nothing here`}
        </button>
      )}
    </section>
  );
}

/** The share of the trained tokens of the step that each rule takes out. */
function useSharesOfStep(): ReadonlyMap<string, number> {
  const session = useSession();
  const [reply, version] = [session.sample.now.value, session.run.now.value?.version];
  const { run = "", split = "", step = 0 } = reply ?? {};
  const subject = isAlone() || reply === null ? null : JSON.stringify([run, split]);
  const loaded = useLoaded(subject && `${subject} ${version}`, () => askTokenMasks(run, { split }), subject);
  return new Map(
    loaded.value?.rules.flatMap(({ rule, steps, masked }) => {
      const share = masked[steps.indexOf(step)];
      return share === undefined ? [] : [[rule, share] as const];
    }),
  );
}

function Distribution({ shown: { tokens, series, scale } }: { shown: Shown }) {
  const ordered = tokens.ordered(series);
  // All values count, also those without a tint.
  const whole = scaleOf(ordered, { kind: scale.kind, ends: "all", low: NaN, high: NaN }, series.name);
  const bars = distribution(ordered, whole, BARS);
  return (
    <section aria-labelledby="distribution">
      <h2 id="distribution">
        Distribution <small>{harmless(series.title)}</small>
      </h2>
      <svg viewBox={`0 0 ${BARS} 40`} preserveAspectRatio="none" class={style["bars"]} aria-hidden="true">
        {bars.map(({ place, height }) => (
          <rect
            key={place}
            x={place * BARS - 0.5}
            y={40 - height * 39}
            width={0.85}
            height={height * 39}
            style={{ fill: tint(scale, valueAt(whole, place)) || "var(--line-2)" }}
          />
        ))}
      </svg>
      <p class={style["ends"]}>
        <span>{figure(whole.low)}</span>
        <span>{figure(whole.high)}</span>
      </p>
    </section>
  );
}
