/** A table of any number of runs: sorted by a press on a heading, navigated by keys, with details on demand. */

import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useReducer, useRef, useState } from "preact/hooks";
import type { RunItem } from "../../../api/types.gen";
import { useVirtual } from "../../../ui/hooks/useVirtual";
import { type Column, type Differing, fitting, headingOf, NAME, NARROW, NARROW_PX, type Sort, turned } from "./columns";
import { RunTableRow, type Shown } from "./RunTableRow";
import style from "./RunTable.module.css";

const ROW_PX = 44;
const NARROW_ROW_PX = 76;
const HEAD_PX = 32;
const GROUP_PX = 44;
const ABOUT_PX = 22;
const NARROW_ABOUT_PX = 36;
/** How often relative times are updated. */
const TICK_MS = 5000;
const MOVES: Record<string, (at: number, last: number) => number> = {
  ArrowDown: (at) => at + 1,
  ArrowUp: (at) => at - 1,
  Home: () => 0,
  End: (_, last) => last,
};

export interface RunTableProps {
  /** In display order. */
  items: readonly RunItem[];
  /** The scrolling element around the table. */
  scroller: RefObject<HTMLElement | null>;
  /** The keys that differ between configurations, the most telling first, and their values in each run. */
  keys: readonly string[];
  /** The number of these keys with a column. */
  telling: number;
  differing: Differing;
  /** The column of a chosen metric. */
  metric: Column | null;
  sort: Sort | null;
  choose: (sort: Sort | null) => void;
  /** Moves up from the first row. */
  leave?: () => void;
}

export function RunTable({ items, scroller, keys, telling, differing, metric, sort, choose, leave }: RunTableProps) {
  const table = useRef<HTMLDivElement>(null);
  const body = useRef<HTMLDivElement>(null);
  const [widthPx, setWidth] = useState(0);
  const [marginPx, setMargin] = useState(0);
  const [current, setCurrent] = useState<string | null>(null);
  const [shown, show] = useState<Shown | null>(null);
  const [morePx, setMore] = useState(0);
  const [, tick] = useReducer((n: number) => n + 1, 0);
  const isNarrow = widthPx > 0 && widthPx < NARROW_PX;
  const columns = isNarrow
    ? NARROW.map((column) => (column.key === "reward" && metric !== null ? metric : column))
    : fitting(widthPx, keys.slice(0, telling), differing, metric);
  const rowPx = isNarrow ? NARROW_ROW_PX : ROW_PX;
  const aboutPx = isNarrow ? NARROW_ABOUT_PX : ABOUT_PX;
  const opened = shown === null ? -1 : items.findIndex(({ id }) => id === shown.id);
  const virtual = useVirtual({
    count: items.length,
    scroller,
    height: (row) =>
      rowPx +
      (headingOf(items, row) === "" ? 0 : GROUP_PX) +
      ((items[row]?.about ?? "") === "" ? 0 : aboutPx) +
      (row === opened ? morePx : 0),
    shape: `${rowPx} ${opened} ${morePx} ${items.map(({ about, group }) => `${about} ${group}`).join("\n")}`,
    margin: marginPx,
  });

  useLayoutEffect(() => {
    const element = table.current;
    if (element === null) return undefined;
    const measure = (): void => setWidth(element.clientWidth);
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  // Each time: content above may have grown.
  // oxlint-disable-next-line react-hooks/exhaustive-deps
  useLayoutEffect(() => {
    if (body.current === null || scroller.current === null) return;
    const px = Math.round(
      body.current.getBoundingClientRect().top -
        scroller.current.getBoundingClientRect().top +
        scroller.current.scrollTop,
    );
    if (px !== marginPx) setMargin(px);
  });
  useEffect(() => {
    const timer = setInterval(() => tick(undefined), TICK_MS);
    return () => clearInterval(timer);
  }, []);

  const rows = virtual.getVirtualItems();
  // One Tab stop: the row that last had the focus, or the first drawn one.
  const stop = rows.some(({ index }) => items[index]?.id === current)
    ? current
    : (items[rows[0]?.index ?? 0]?.id ?? null);
  const focusRow = (index: number): void => {
    const link = (): HTMLElement | null | undefined =>
      body.current?.querySelector<HTMLElement>(`[data-row="${index}"] a`);
    if (link() === null) virtual.scrollToIndex(index, { align: "auto" });
    const drawn = link();
    // At once, because the next key belongs to this row; a row outside the view is drawn only after scrolling.
    if (drawn) drawn.focus();
    else requestAnimationFrame(() => link()?.focus());
  };
  // A run that was hidden lost its open details and the focus.
  useEffect(() => {
    if (shown === null || opened >= 0) return;
    show(null);
    if (document.activeElement === document.body && items.length > 0) focusRow(0);
    // oxlint-disable-next-line react/exhaustive-deps
  }, [shown, opened]);
  const onKeyDown = (event: KeyboardEvent): void => {
    const to = MOVES[event.key];
    if (to === undefined || event.ctrlKey || event.altKey || event.metaKey || !(event.target instanceof Element))
      return;
    if (event.target.closest("input, textarea, [data-more]") !== null) return;
    event.preventDefault();
    const row = event.target.closest<HTMLElement>("[data-row]")?.dataset["row"];
    const next = row === undefined ? (event.key === "ArrowDown" ? 0 : -1) : to(Number(row), items.length - 1);
    if (next >= 0) focusRow(Math.min(items.length - 1, next));
    else if (row !== undefined) leave?.();
  };
  const template = [`minmax(0, 1fr)`, ...columns.map(({ px }) => `${px}px`)].join(" ");
  return (
    // oxlint-disable-next-line jsx-a11y/no-static-element-interactions -- the keys go among its rows
    <div class={`${style["table"]} ${isNarrow ? style["narrow"] : ""}`} ref={table} onKeyDown={onKeyDown}>
      <div role="table" aria-label="Runs" aria-rowcount={items.length + 1}>
        {!isNarrow && (
          <div role="rowgroup" class={style["head"]} style={{ height: `${HEAD_PX}px` }}>
            <div role="row" aria-rowindex={1} class={style["line"]} style={{ gridTemplateColumns: template }}>
              {[NAME, ...columns].map((column) => (
                <Heading key={column.key} column={column} sort={sort} choose={choose} />
              ))}
            </div>
          </div>
        )}
        <div role="rowgroup" class={style["body"]} ref={body} style={{ height: `${virtual.getTotalSize()}px` }}>
          {rows.map(({ index, start }) => {
            const item = items[index];
            return item === undefined ? null : (
              <RunTableRow
                key={item.id}
                {...{ item, columns, template, keys, differing, isNarrow, rowPx }}
                row={index}
                heading={headingOf(items, index)}
                headingPx={GROUP_PX}
                aboutPx={aboutPx}
                top={start - marginPx}
                shown={shown?.id === item.id ? shown.what : null}
                show={(what) => show(what === null ? null : { id: item.id, what })}
                isStop={item.id === stop}
                onFocus={() => setCurrent(item.id)}
                measured={setMore}
              />
            );
          })}
        </div>
      </div>
    </div>
  );
}

function Heading({ column, sort, choose }: { column: Column } & Pick<RunTableProps, "sort" | "choose">) {
  const isHere = sort?.key === column.key;
  const way = !isHere ? "none" : sort.isDescending ? "descending" : "ascending";
  const side = column.isNumber ? style["number"] : "";
  if (column.value === undefined)
    return (
      <div role="columnheader" class={`${style["heading"]} ${side}`} title={column.title}>
        <span class="clip">{column.label}</span>
      </div>
    );
  return (
    // oxlint-disable-next-line jsx-a11y/control-has-associated-label -- its button has the words
    <div role="columnheader" class={`${style["heading"]} ${side}`} aria-sort={way}>
      <button type="button" class={style["sort"]} title={column.title} onClick={() => choose(turned(sort, column))}>
        <span class="clip">{column.label}</span>
        <span class={style["way"]} aria-hidden="true">
          {!isHere ? "" : sort.isDescending ? "↓" : "↑"}
        </span>
      </button>
    </div>
  );
}
