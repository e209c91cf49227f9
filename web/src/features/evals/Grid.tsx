/** Prompts by steps. Only the visible cells are drawn; arrow keys move through all of them. */

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { PromptScores } from "../../api/types.gen";
import { type Shared, sharedOf, without } from "../../lib/diff/commonWords";
import { CELL_PX, columnsOn, labelEvery, markOf, moved, ROW_PX, describeCell, type Span, type Spot } from "./gridCells";
import { figure } from "../../lib/numbers/numbers";
import { shownPrompt, shownTexts } from "../../state/browser/previews";
import { Text } from "../../ui/text/Text";
import { useEdges } from "../../ui/hooks/useEdges";
import { useVirtual } from "../../ui/hooks/useVirtual";
import { kindOf } from "./outcomes";
import style from "./Evals.module.css";

interface Props {
  steps: readonly number[];
  /** The prompts; rows leave out words that all prompts share. */
  alike: readonly PromptScores[];
  total: number;
  /** Undefined while its page is loading. */
  rowAt: (row: number) => PromptScores | undefined;
  need: (page: number) => void;
  page: number;
  open: { prompt: string; step: number } | null;
  choose: (prompt: string, step: number) => void;
  /** Read the answers to a prompt step by step. */
  read: (prompt: string) => void;
}

export function Grid({ steps, alike, total, rowAt, need, page, open, choose, read }: Props) {
  const scroller = useRef<HTMLDivElement>(null);
  const [spot, show] = useState<Spot>({ row: 0, column: Math.max(0, steps.length - 1) });
  const here = useRef(spot); // several keys may come before the next drawing
  const stand = (to: Spot): void => {
    here.current = to;
    show(to);
  };
  const isWalking = useRef(false);
  useEdges(scroller);
  const columns = useColumns(scroller, steps.length);
  const virtual = useVirtual({ count: total, scroller, height: () => ROW_PX, shape: total });
  const rows = virtual.getVirtualItems();
  useEffect(() => {
    for (const target of new Set(rows.map(({ index }) => Math.floor(index / page)))) need(target);
  });
  const isAtEnd = useRef(true);
  useEffect(() => {
    // The grid starts at the newest steps; a reader who has scrolled away stays there while new steps arrive.
    if (scroller.current !== null && isAtEnd.current) scroller.current.scrollLeft = scroller.current.scrollWidth;
  }, [steps.length]);
  useEffect(() => {
    const stop = (): void => {
      isWalking.current = false;
    };
    document.addEventListener("pointerdown", stop);
    return () => document.removeEventListener("pointerdown", stop);
  }, []);
  useLayoutEffect(() => {
    // The focused cell may leave the screen before its successor is drawn.
    if (!isWalking.current) return;
    scroller.current?.querySelector<HTMLElement>('[role="gridcell"][tabindex="0"]')?.focus({ preventScroll: true });
  });

  const walk = (to: Spot): void => {
    isWalking.current = true;
    stand(to);
    virtual.scrollToIndex(to.row, { align: "auto" });
    intoView(scroller.current, to.column);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const at = here.current;
    const row = rowAt(at.row);
    const step = steps[at.column];
    if ((event.key === "Enter" || event.key === " ") && row !== undefined && step !== undefined) {
      event.preventDefault();
      if ((row.n[at.column] ?? -1) >= 0) choose(row.name, step);
      return;
    }
    const to = moved(event.key, at, total, steps.length);
    if (to === null) return;
    event.preventDefault();
    event.stopPropagation();
    walk(to);
  };
  const onClick = (event: MouseEvent): void => {
    const to = spotOf(event);
    const row = to === null ? undefined : rowAt(to.row);
    const step = to === null ? undefined : steps[to.column];
    if (row !== undefined && to?.column === -1) read(row.name);
    if (to === null || row === undefined || step === undefined) return;
    stand(to);
    if ((row.n[to.column] ?? -1) >= 0) choose(row.name, step);
  };
  // Tab enters the grid at the last focused cell or, if that is not visible, at the nearest visible one.
  const stop: Spot = {
    row: Math.min(Math.max(spot.row, rows[0]?.index ?? 0), rows.at(-1)?.index ?? 0),
    column: Math.min(Math.max(spot.column, columns.first), Math.max(0, columns.stop - 1)),
  };
  const onFocus = (event: FocusEvent): void => {
    const to = isWalking.current ? null : spotOf(event);
    if (to !== null) here.current = to;
  };
  const onBlur = ({ relatedTarget }: FocusEvent): void => {
    if (relatedTarget instanceof Node && scroller.current?.contains(relatedTarget) !== true) isWalking.current = false;
  };
  const every = labelEvery(steps);
  const common = sharedOf(alike, ({ prompt }) => shownPrompt(prompt), shownTexts().settings);
  const width = { width: `${steps.length * CELL_PX}px` };
  return (
    <div
      class={style["scroller"]}
      ref={scroller}
      onKeyDown={onKeyDown}
      onClick={onClick}
      onScroll={(event) => (isAtEnd.current = atEnd(event.currentTarget))}
      onFocusCapture={onFocus}
      onBlurCapture={onBlur}
      role="presentation"
    >
      <div
        class={style["grid"]}
        role="grid"
        aria-label="Prompts by step"
        aria-rowcount={total + 1}
        aria-colcount={steps.length + 1}
      >
        <div class={style["head"]} role="row" aria-rowindex={1}>
          <span class={style["corner"]} role="columnheader" aria-colindex={1}>
            prompt
          </span>
          <span class={style["cells"]} style={width} role="presentation">
            {drawn(columns).map((column) => (
              <span
                key={column}
                role="columnheader"
                aria-colindex={column + 2}
                class={style["step"]}
                style={{ left: `${column * CELL_PX}px` }}
                aria-label={`step ${figure(steps[column])}`}
              >
                {column % every === (steps.length - 1) % every ? figure(steps[column]) : ""}
              </span>
            ))}
          </span>
        </div>
        <div role="rowgroup" style={{ height: `${virtual.getTotalSize()}px` }} class={style["space"]}>
          {rows.map(({ index, start }) => (
            <Row
              key={index}
              row={rowAt(index)}
              index={index}
              top={start}
              steps={steps}
              common={common}
              columns={columns}
              width={width}
              spot={stop}
              open={open}
            />
          ))}
        </div>
      </div>
    </div>
  );
}

interface RowProps {
  row: PromptScores | undefined;
  index: number;
  top: number;
  steps: readonly number[];
  common: Shared;
  columns: Span;
  width: { width: string };
  spot: Spot;
  open: Props["open"];
}

function Row({ row, index, top, steps, common, columns, width, spot, open }: RowProps) {
  return (
    <div
      class={style["row"]}
      role="row"
      aria-rowindex={index + 2}
      aria-busy={row === undefined}
      style={{ transform: `translateY(${top}px)` }}
    >
      <span class={style["prompt-cell"]} role="rowheader" aria-colindex={1} title={row?.prompt} data-row={index}>
        <span class={style["prompt"]}>
          {row === undefined ? (
            "…"
          ) : row.prompt.trim() === "" ? (
            "(no prompt)"
          ) : (
            <Text text={without(shownPrompt(row.prompt), common)} />
          )}
        </span>
        <small
          class={style[`word-${row?.verdict ?? ""}`]}
          title={row === undefined ? undefined : kindOf(row.verdict).meaning}
        >
          {row === undefined ? "" : kindOf(row.verdict).words}
          {row?.beat === false && " · never beat the reference"}
        </small>
      </span>
      <span class={style["cells"]} style={width} role="presentation">
        {drawn(columns).map((column) => {
          const n = row?.n[column] ?? -1;
          const c = row?.c[column] ?? 0;
          const mark = row === undefined ? "absent" : markOf(n, c);
          const isOpen = open !== null && row?.name === open.prompt && steps[column] === open.step;
          const isSpot = spot.row === index && spot.column === column;
          return (
            <span
              key={column}
              role="gridcell"
              aria-colindex={column + 2}
              aria-label={row === undefined ? "loading" : describeCell(n, c, steps[column] ?? 0)}
              aria-selected={isOpen}
              tabIndex={isSpot ? 0 : -1}
              data-row={index}
              data-column={column}
              class={style["cell"]}
              style={{ left: `${column * CELL_PX}px` }}
              title={row === undefined ? undefined : describeCell(n, c, steps[column] ?? 0)}
            >
              <i class={style[mark]}>{mark === "some" && <b style={{ height: `${(100 * c) / n}%` }} />}</i>
            </span>
          );
        })}
      </span>
    </div>
  );
}

const drawn = ({ first, stop }: Span): number[] =>
  Array.from({ length: Math.max(0, stop - first) }, (_, i) => first + i);

/** The place of a cell; the prompt of a row is before its first column. */
function spotOf({ target }: Event): Spot | null {
  const cell = target instanceof Element ? target.closest<HTMLElement>("[data-row]") : null;
  return cell === null ? null : { row: Number(cell.dataset["row"]), column: Number(cell.dataset["column"] ?? -1) };
}

const atEnd = ({ scrollLeft, clientWidth, scrollWidth }: HTMLElement): boolean =>
  scrollLeft + clientWidth > scrollWidth - CELL_PX;

/** Bring a column into view; the prompts' own column covers the left of the grid. */
function intoView(scroller: HTMLElement | null, column: number): void {
  const head = scroller?.querySelector<HTMLElement>('[role="columnheader"]')?.offsetWidth ?? 0;
  if (scroller === null) return;
  const left = column * CELL_PX;
  const room = scroller.clientWidth - head;
  if (left < scroller.scrollLeft) scroller.scrollLeft = left;
  else if (left + CELL_PX > scroller.scrollLeft + room) scroller.scrollLeft = left + CELL_PX - room;
}

/** The columns on the screen, for its scroll position and size. */
function useColumns(scroller: { current: HTMLDivElement | null }, count: number): Span {
  const [span, show] = useState<Span>({ first: Math.max(0, count - 80), stop: count });
  useLayoutEffect(() => {
    const element = scroller.current;
    if (element === null) return undefined;
    const look = (): void => {
      const now = columnsOn(element.scrollLeft, element.clientWidth, count);
      show((before) => (before.first === now.first && before.stop === now.stop ? before : now));
    };
    const observer = new ResizeObserver(look);
    observer.observe(element);
    element.addEventListener("scroll", look, { passive: true });
    look();
    return () => {
      observer.disconnect();
      element.removeEventListener("scroll", look);
    };
  }, [scroller, count]);
  return span;
}
