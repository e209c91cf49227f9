/** The current series along the position: a press goes to a token, a drag selects a range. */

import { useSession } from "../../../state/useSession";
import { useComputed } from "@preact/signals";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { figure, score } from "../../../lib/numbers/numbers";
import { harmless } from "../../../lib/text/invisible";
import { inColumn } from "../../../lib/tokens/sample/readable";
import type { TokenSample } from "../../../lib/tokens/sample/tokenSample";
import { meanAndMost } from "../../../lib/tokens/strip/strip";
import { reaching } from "../../../lib/tokens/scale";
import { choose, settings } from "../../../state/browser/settings";
import type { Session } from "../../../state/session";
import { useAfterFrame } from "../../../ui/hooks/useAfterFrame";
import { useScheme } from "../../../ui/hooks/useScheme";
import { valueOf, words } from "../card/words";
import { TAKEN_OUT } from "../update/updatePaint";
import { drawStrip } from "./drawStrip";
import { HeatView } from "./HeatView";
import { Marks } from "./Marks";
import { point, press } from "./press";
import style from "./Strip.module.css";

/** The share of the tokens that an arrow key moves by. */
const STEP = 1 / 200;
const NOTHING = new Float64Array();

export function StripView({ tokens }: { tokens: TokenSample }) {
  const session = useSession();
  const { tokenLook: look } = session;
  const { start } = tokens;
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  const scheme = useScheme();
  const drawn = look.drawn.value;
  const isDrawn = drawn !== null;
  const flags = useComputed(() => flagsOf(session)).value;
  useLayoutEffect(() => {
    const element = canvas.current;
    if (element === null) return undefined;
    const observer = new ResizeObserver(() => setWidth(element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, [isDrawn]);
  useAfterFrame(() => {
    if (canvas.current === null || drawn === null) return;
    const { series, scale } = drawn;
    const own = flags.map((of) => of.subarray(start));
    const values = series.values.subarray(start);
    // With many tokens in a column, every column would reach an end that clips.
    const isCrowded = values.length > width && look.isUsual(series);
    const shown = isCrowded ? reaching(scale, tokens.ordered(series)) : scale;
    drawStrip(canvas.current, { values, trained: tokens.trained.subarray(start), scale: shown, flags: own });
  }, [tokens, drawn, flags, width, scheme]);
  const { mean, most } = useMemo(() => meanAndMost(drawn?.series.values ?? NOTHING, tokens.trained), [drawn, tokens]);
  if (drawn === null) return null;
  const { series } = drawn;
  const at = look.chosen.value;
  const isFolded = settings.value.stripFolded;
  return (
    <div class={style["strip"]} data-form={session.place.field.tokensAs.value}>
      <span class={style["name"]} title={harmless(series.about)}>
        {harmless(series.title)}
        <small>mean {score(mean)}</small>
        <small>max {score(most)}</small>
        <button
          type="button"
          class={style["fold"]}
          aria-expanded={!isFolded}
          title={isFolded ? "Show the rows of other series" : "Fold the rows of other series"}
          onClick={() => choose({ stripFolded: !isFolded })}
        >
          {isFolded ? "▸ rows" : "▾ rows"}
        </button>
      </span>
      <div
        class={style["plot"]}
        role="slider"
        tabIndex={0}
        aria-label={`${harmless(series.title)} by position`}
        aria-valuemin={start}
        aria-valuemax={tokens.count - 1}
        aria-valuenow={at ?? start}
        aria-valuetext={at === null ? "no token" : words(session, tokens, at)}
        title="Press to go to a token, drag to select a range"
        onPointerDown={(event) => press(session, tokens, event, drawn)}
        onPointerMove={(event) => point(look, tokens, event, drawn)}
        onPointerLeave={() => point(look, tokens, null, null)}
        onKeyDown={(event) => {
          if (byKey(session, tokens, event)) event.preventDefault();
        }}
      >
        <canvas ref={canvas} />
        <Marks tokens={tokens} />
      </div>
      <HeatView tokens={tokens} width={width} />
      <p class={style["words"]}>
        <span>{figure(start)}</span>
        <span class={style["middle"]}>
          <Pointed tokens={tokens} />
        </span>
        <span>token {figure(tokens.count - 1)}</span>
      </p>
      {tokens.padding !== "" && <p class={style["padding"]}>{tokens.padding}</p>}
    </div>
  );
}

/** The marks of tokens that each chosen rule takes out. */
function flagsOf({ place, tokenMasks: masks, tokenUpdate: update }: Session): readonly Uint8Array[] {
  if (place.field.tokensAs.value !== "update") return masks.chosen.value.map((mask) => mask.flags);
  const first = update.first.value;
  return first === null ? [] : [Uint8Array.from(first.effects, (effect) => (effect === TAKEN_OUT ? 1 : 0))];
}

/** The selected range, else the token under the pointer, else the effect of a press. */
function Pointed({ tokens }: { tokens: TokenSample }) {
  const { tokenLook: look } = useSession();
  const [pointed, range] = [look.pointed.value, look.range.value];
  const series = pointed?.series ?? look.drawn.value?.series ?? null;
  if (range === null && pointed !== null && series !== null) {
    const { token } = pointed;
    return (
      <>
        {figure(token)} {tokens.label(token, inColumn)} · {harmless(series.title || series.name)}{" "}
        {valueOf(series.name, series.values[token])}
      </>
    );
  }
  if (range === null) return <>press: go there · drag: select</>;
  return (
    <>
      tokens {figure(range.from)} to {figure(range.stop - 1)} · Esc selects all
    </>
  );
}

/** Move the current token, or with Shift the end of the range. False for another key. */
function byKey({ tokenLook: look }: Session, tokens: TokenSample, event: KeyboardEvent): boolean {
  if (event.ctrlKey || event.altKey || event.metaKey) return false;
  if (event.key === "Escape" && look.range.peek() !== null) {
    look.range.value = null;
    return true;
  }
  const last = tokens.count - 1;
  const here = look.current.peek()?.token ?? tokens.start;
  const step = Math.max(1, Math.round((tokens.count - tokens.start) * STEP));
  const ways: Readonly<Record<string, number>> = {
    ArrowLeft: here - step,
    ArrowDown: here - step,
    ArrowRight: here + step,
    ArrowUp: here + step,
    Home: tokens.start,
    End: last,
  };
  const to = ways[event.key];
  if (to === undefined) return false;
  const token = Math.max(tokens.start, Math.min(last, to));
  if (event.shiftKey) look.extend(here, token);
  look.current.value = { token, by: "keys" };
  look.target.value = { token };
  return true;
}
