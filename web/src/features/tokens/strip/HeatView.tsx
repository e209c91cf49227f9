/** All tokens of the sample at once: a row for each informative series, with as many cells as fit. */

import { useEffect, useMemo, useRef } from "preact/hooks";
import { count } from "../../../lib/numbers/numbers";
import { harmless } from "../../../lib/text/invisible";
import { type HeatRow, heatRow, telling } from "../../../lib/tokens/strip/heat";
import type { Series, TokenSample } from "../../../lib/tokens/sample/tokenSample";
import type { Session } from "../../../state/session";
import type { Drawn } from "../../../state/tokens/look";
import { settings } from "../../../state/browser/settings";
import { useSession } from "../../../state/useSession";
import { useAfterFrame } from "../../../ui/hooks/useAfterFrame";
import { NARROW, useMatch } from "../../../ui/hooks/useMatch";
import { useScheme } from "../../../ui/hooks/useScheme";
import { drawHeat, ROW_PX } from "./drawHeat";
import { Marks } from "./Marks";
import { point, press } from "./press";
import style from "./Strip.module.css";

/** The most rows beside the bars of the current series; the table has more. */
const MOST = { text: 2, update: 2, table: 12 };
const MOST_NARROW = 2;

interface Props {
  tokens: TokenSample;
  /** The width of the canvas: a change draws it again. */
  width: number;
}

export function HeatView({ tokens, width }: Props) {
  const session = useSession();
  const { tokenLook: look, place } = session;
  const canvas = useRef<HTMLCanvasElement>(null);
  const most = useMatch(NARROW) ? MOST_NARROW : MOST[place.field.tokensAs.value];
  const except = look.drawn.value?.series.name ?? "";
  const isFolded = settings.value.stripFolded;
  const rows = useMemo(() => (isFolded ? [] : telling(tokens, most, except)), [tokens, most, except, isFolded]);
  const [scales, scheme] = [place.field.scales.value, useScheme()];
  const end = useRef<(() => void) | null>(null);
  useAfterFrame(() => {
    end.current?.();
    const element = canvas.current;
    if (element === null) return;
    end.current = drawHeat(
      element,
      rows.map((series) => () => rowOf(look, tokens, series, element.clientWidth)),
    );
  }, [tokens, rows, scales, width, scheme]);
  useEffect(() => () => end.current?.(), []);
  if (rows.length === 0) return null;
  const names = rows.map((series) => harmless(series.title || series.name));
  return (
    <>
      <div class={style["names"]} style={{ lineHeight: `${ROW_PX}px` }} aria-hidden="true">
        {rows.map(({ name, about }, row) => (
          <span key={name} title={harmless(about)}>
            {names[row]}
          </span>
        ))}
      </div>
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- the keys go by the bars above */}
      <div
        class={style["heat"]}
        role="img"
        aria-label={`All ${count(tokens.count - tokens.start, "token")} at once: ${names.join(", ")}`}
        title="What stands out in each series; press to go to a token, drag to select a range"
        style={{ height: `${rows.length * ROW_PX}px` }}
        onPointerDown={(event) => press(session, tokens, event, rowAt(look, rows, event))}
        onPointerMove={(event) => point(look, tokens, event, rowAt(look, rows, event))}
        onPointerLeave={() => point(look, tokens, null, null)}
      >
        <canvas ref={canvas} />
        <Marks tokens={tokens} />
      </div>
    </>
  );
}

type Look = Session["tokenLook"];

/** The row of a press. */
function rowAt(look: Look, rows: readonly Series[], { offsetY }: PointerEvent): Drawn | null {
  const series = rows[Math.max(0, Math.min(rows.length - 1, Math.floor(offsetY / ROW_PX)))];
  return series === undefined ? null : { series, scale: look.scaleOf(series) };
}

/** Keeps the rows of series: a new colour series changes at most two of them. */
const known = new WeakMap<Series, { key: string; row: HeatRow }>();

function rowOf(look: Look, tokens: TokenSample, series: Series, width: number): HeatRow {
  const [scale, isUsual] = [look.scaleOf(series), look.isUsual(series)];
  const key = JSON.stringify([width, isUsual, scale, tokens.start, tokens.count]);
  const before = known.get(series);
  if (before?.key === key) return before.row;
  const row = heatRow(series, tokens, scale, Math.floor(width), isUsual);
  known.set(series, { key, row });
  return row;
}
