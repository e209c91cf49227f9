/** A heat map of all values: a column for each token, and a row with its own scale for each series. */

import { useSession } from "../../../state/useSession";
import { useComputed } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { harmless } from "../../../lib/text/invisible";
import { escaped, inColumn } from "../../../lib/tokens/sample/readable";
import { tint, type TokenScale } from "../../../lib/tokens/scale";
import type { Series, TokenSample } from "../../../lib/tokens/sample/tokenSample";
import { announce } from "../../../ui/overlay/announce";
import { NARROW, useMatch } from "../../../ui/hooks/useMatch";
import { useRows } from "../../../ui/hooks/useRows";
import { TOKENS_ID } from "../actions";
import { valueOf, words } from "../card/words";
import style from "./Table.module.css";

const COLUMN_PX = 84;
const NAMES_PX = { wide: 192, narrow: 112 };
/** The most characters of a token in the head of its column; its title shows more. */
const HEAD_CHARS = 24;
const TITLE_CHARS = 200;

interface Row {
  series: Series;
  scale: TokenScale;
}

export function TableView({ tokens }: { tokens: TokenSample }) {
  const session = useSession();
  const { tokenLook: look } = session;
  const { first } = tokens;
  const scroller = useRef<HTMLDivElement>(null);
  const namesPx = useMatch(NARROW) ? NAMES_PX.narrow : NAMES_PX.wide;
  const rows = useComputed<Row[]>(() =>
    look.rows.value.map((series) => ({ series, scale: look.scaleOf(series) })),
  ).value;
  const drawn = useRows({ count: tokens.count - first, rowPx: COLUMN_PX, scroller, abovePx: namesPx, of: "columns" });
  const { target } = look;
  const reveal = (token: number): void => drawn.reveal(token - first);
  const begin = useRef(reveal);
  begin.current = reveal;
  // The table begins at its first token, or shows the current one.
  useLayoutEffect(() => {
    const token = look.current.peek()?.token;
    if (token === undefined) return;
    const view = (scroller.current?.clientWidth ?? 0) - namesPx;
    begin.current(Math.min(tokens.count - 1, token + Math.max(0, Math.floor(view / COLUMN_PX) - 1)));
    begin.current(token);
    // Only once; afterwards the reader scrolls.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [tokens]);
  const wanted = target.value;
  useEffect(() => {
    if (wanted !== null) begin.current(wanted.token);
  }, [wanted]);

  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.target !== event.currentTarget || event.ctrlKey || event.altKey || event.metaKey) return;
    const here = look.current.peek()?.token ?? null;
    const token = nextColumn(event.key, here, tokens);
    if (event.key === "Escape") {
      if (here === null) scroller.current?.blur();
      else look.leave();
    } else if (token === null) return;
    else {
      look.current.value = { token, by: "keys" };
      reveal(token);
      announce(words(session, tokens, token), false);
    }
    event.preventDefault();
  };

  const columns = drawn.rows.map(({ index, top }) => ({ token: first + index, left: namesPx + top, nth: index + 2 }));
  const width = { width: `${namesPx + drawn.spacePx}px` };
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- one listener for all columns
    <div
      id={TOKENS_ID}
      class={style["table"]}
      ref={scroller}
      role="table"
      tabIndex={0}
      aria-label="Values of tokens, by arrow keys"
      aria-colcount={tokens.count - first + 1}
      aria-rowcount={rows.length + 1}
      onKeyDown={onKeyDown}
      onClick={(event) => {
        const cell = event.target instanceof Element ? event.target.closest("[data-token]") : null;
        if (cell !== null) look.goTo(Number(cell.getAttribute("data-token")));
      }}
      style={{ "--names": `${namesPx}px`, "--column": `${COLUMN_PX}px` }}
    >
      <div class={style["head"]} role="row" style={width}>
        <span class={style["name"]} role="columnheader">
          token
        </span>
        {columns.map(({ token, left, nth }) => (
          <Head key={token} tokens={tokens} token={token} left={left} nth={nth} />
        ))}
      </div>
      {rows.map((row) => (
        <div key={row.series.name} class={style["row"]} role="row" style={width}>
          <span class={style["name"]} role="rowheader" title={harmless(row.series.about)}>
            {harmless(row.series.title || row.series.name)}
          </span>
          {columns.map(({ token, left, nth }) => (
            <Cell key={token} row={row} token={token} left={left} nth={nth} isTrained={tokens.trained[token] === 1} />
          ))}
        </div>
      ))}
    </div>
  );
}

/** The token that a key leads to; null for another key. */
function nextColumn(key: string, here: number | null, { first, count }: TokenSample): number | null {
  if (key === "Home") return first;
  if (key === "End") return count - 1;
  if (key === "ArrowLeft") return Math.max(first, (here ?? first) - 1);
  return key === "ArrowRight" ? Math.min(count - 1, (here ?? first - 1) + 1) : null;
}

interface HeadProps {
  tokens: TokenSample;
  token: number;
  left: number;
  /** The number of the column. */
  nth: number;
}

function Head({ tokens, token, left, nth }: HeadProps) {
  const { tokenLook: look, tokenMasks: masks } = useSession();
  const [first, second] = masks.chosen.value;
  const marks = [
    style["cell"],
    tokens.trained[token] === 1 ? "" : style["off"],
    first?.flags[token] === 1 ? style["first"] : "",
    second?.flags[token] === 1 ? style["second"] : "",
    look.chosen.value === token ? style["current"] : "",
  ];
  const text = tokens.text(token);
  return (
    <span
      class={marks.join(" ")}
      role="columnheader"
      aria-colindex={nth}
      data-token={token}
      title={text === null ? undefined : escaped(text.slice(0, TITLE_CHARS))}
      style={{ left: `${left}px` }}
    >
      {token} - {tokens.label(token, (whole) => inColumn(whole.slice(0, HEAD_CHARS)))}
    </span>
  );
}

interface CellProps {
  row: Row;
  token: number;
  left: number;
  nth: number;
  isTrained: boolean;
}

function Cell({ row: { series, scale }, token, left, nth, isTrained }: CellProps) {
  const value = series.values[token] ?? NaN;
  return (
    <span
      class={`${style["cell"]} ${isTrained ? "" : style["off"]}`}
      role="cell"
      aria-colindex={nth}
      data-token={token}
      style={{ left: `${left}px`, backgroundColor: isTrained ? tint(scale, value) : "" }}
    >
      {valueOf(series.name, value)}
    </span>
  );
}
