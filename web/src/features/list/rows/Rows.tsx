/** The rows of the list: draws only the rows on the screen, and requests a page when the reader scrolls near it. */

import { useSession } from "../../../state/useSession";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { NOTHING_SHARED, type Shared, sharedOf } from "../../../lib/diff/commonWords";
import { commonBeside, NOTHING_COMMON } from "../../../lib/diff/commonInSamples";
import { shownTexts } from "../../../state/browser/previews";
import { groupPx } from "../../../lib/list/strips";
import { groupAt, itemAt, type Listing } from "../../../state/list/list";
import { PAGE } from "../../../state/list/pages";
import type { Strips } from "../../../state/list/strips";
import { Failure, Missing } from "../../../ui/layout/EmptyState";
import { NARROW, useMatch } from "../../../ui/hooks/useMatch";
import { useAfterPaint } from "../../../ui/hooks/useAfterPaint";
import { useRows } from "../../../ui/hooks/useRows";
import { GroupHead } from "./GroupHead";
import { GroupRow } from "./GroupRow";
import { Empty, Unread, Waiting } from "../NoRows";
import { SAMPLE_PX, SampleRow } from "./SampleRow";
import { ROW_PX, TableHead, TableRow, tableColumns } from "./Table";
import style from "../List.module.css";

export function Rows() {
  const session = useSession();
  const now = session.list.now.value;
  const error = session.list.error.value;
  const here = session.list.rowHere.value;
  const position = session.list.position.value;
  const { list, ...drawn } = useAfterPaint<Omit<Shown, "list"> & { list: Listing | null }>(
    { list: now, here, position, strips: session.strips.now.value },
    `${now?.key} ${here} ${position}`,
  );
  // The error of a filter appears below its field; the list stays as it was.
  if (error !== null && session.list.isBehind.value && error.place !== null && list === null) return <Unread />;
  if (error !== null && session.list.isBehind.value && error.place === null)
    return <Failure error={error} what="The list" again={() => void session.list.reload()} />;
  if (list === null) return <Waiting />;
  if (list.total === 0 && !session.list.isBehind.value) return <Empty list={list} />;
  return (
    <>
      {error !== null && !session.list.isBehind.value && (
        <Missing error={error} again={() => void session.list.reload()} />
      )}
      <Drawn list={list} {...drawn} />
    </>
  );
}

/** Moving the focus scrolls nothing. */
const STAY = { preventScroll: true };

/** A list, and the row and the place of the open sample in it. */
interface Shown {
  list: Listing;
  here: number | null;
  position: number | null;
  strips: Strips;
}

function Drawn({ list, here, position, strips }: Shown) {
  const session = useSession();
  const scroller = useRef<HTMLDivElement>(null);
  const rows = useRef<HTMLUListElement>(null);
  const { mode } = list;
  // A list that stays because of an invalid filter is not dimmed.
  const isLoading = session.list.isBehind.value && session.list.error.value === null;
  const rowPx = mode === "table" ? ROW_PX : mode === "groups" ? groupPx(strips) : SAMPLE_PX;
  const [abovePx, setAbove] = useState(0);
  const drawn = useRows({ count: list.rows, rowPx, scroller, abovePx });
  const isAlone = useMatch(NARROW);
  useLayoutEffect(() => {
    const element = scroller.current;
    const head = rows.current?.previousElementSibling;
    if (element === null) return undefined;
    const measure = (): void => {
      setAbove(head instanceof HTMLElement ? head.offsetHeight : 0);
      if (element.clientWidth !== session.strips.room.peek().px || isAlone !== session.strips.room.peek().isAlone)
        session.strips.room.value = { px: element.clientWidth, isAlone };
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    if (head) observer.observe(head);
    return () => observer.disconnect();
  }, [session, isAlone, mode]);

  // The chosen sample comes into view when the choice or the list changes; never while the reader scrolls. It takes the
  // focus of another row, but never that of the table's head.
  const hasFocus = useRef(false);
  useEffect(() => {
    if (here === null) return;
    drawn.reveal(here);
    if (!hasFocus.current) return;
    requestAnimationFrame(() => {
      if (hasFocus.current) rows.current?.querySelector<HTMLElement>('[aria-current="true"]')?.focus(STAY);
    });
    // Only when the row or the list changes: the page leaves the reader's own scrolling alone.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [here, list.key, rowPx, abovePx]);

  // The focused row may be scrolled away: the next key still belongs to the list.
  useLayoutEffect(() => {
    if (hasFocus.current && document.activeElement === document.body) rows.current?.focus(STAY);
  });

  const first = drawn.rows[0]?.index ?? 0;
  const last = drawn.rows.at(-1)?.index ?? 0;
  useEffect(() => {
    for (let page = Math.floor(first / PAGE); page <= Math.floor(last / PAGE); page += 1) void session.list.need(page);
  }, [session, first, last, list]);

  const onKeyDown = (event: KeyboardEvent): void => {
    const inView = Math.max(1, Math.floor((scroller.current?.clientHeight ?? rowPx) / rowPx) - 1);
    const to = target(event.key, here, list.rows, inView);
    if (to === null || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    void session.browse.goToRow(to);
  };

  const columns = mode === "table" ? tableColumns(session, list.columns) : null;
  const common = commonIn(list);
  const inRow = here ?? 0;
  const focusable = drawn.rows.some(({ index }) => index === inRow) ? inRow : first;
  return (
    <div
      class={`${style["rows"]} ${isLoading ? style["behind"] : ""}`}
      ref={scroller}
      data-scroll="list"
      onKeyDown={onKeyDown}
      role="presentation"
      style={{ "--strip": `${strips.strips[0]?.px ?? 0}px` }}
    >
      {columns !== null && <TableHead columns={columns} />}
      {mode === "groups" && <GroupHead strips={strips} />}
      <ul
        ref={rows}
        tabIndex={-1}
        class={style["space"]}
        style={{ height: `${drawn.spacePx}px`, minWidth: columns?.minWidth }}
        aria-label={mode === "groups" ? "Groups" : "Samples"}
        aria-busy={isLoading}
        onFocusCapture={() => (hasFocus.current = true)}
        onBlurCapture={(event) => (hasFocus.current = event.relatedTarget === null && document.hasFocus())}
      >
        {drawn.rows.map(({ index, top }) => {
          const box = `transform: translateY(${top}px); height: ${rowPx}px`;
          const shared = { isHere: index === here, canFocus: index === focusable, box };
          if (mode === "groups")
            return (
              <GroupRow
                key={index}
                {...shared}
                group={groupAt(list, index)}
                strips={strips}
                common={common}
                at={index === here ? position : null}
                isOfSteps={list.scope.step === null}
              />
            );
          const item = itemAt(list, index);
          const page = list.pages.get(Math.floor(index / PAGE));
          const beside =
            item === undefined || page === undefined ? NOTHING_COMMON : commonBeside(page, item, shownTexts());
          if (columns !== null)
            return <TableRow key={index} {...shared} item={item} columns={columns} common={beside} />;
          return (
            <SampleRow
              key={index}
              {...shared}
              item={item}
              columns={list.columns}
              common={beside}
              isOfSteps={list.scope.step === null}
            />
          );
        })}
      </ul>
    </div>
  );
}

/** Words that all prompts of the first loaded page share; later pages do not change them. */
function commonIn({ groups }: Listing): Shared {
  const [first] = groups.values();
  const shown = shownTexts();
  return first === undefined ? NOTHING_SHARED : sharedOf(first, ({ prompt }) => shown.prompt(prompt), shown.settings);
}

function target(key: string, here: number | null, rows: number, inView: number): number | null {
  const from = here ?? -1;
  if (key === "ArrowDown") return Math.min(rows - 1, from + 1);
  if (key === "ArrowUp") return Math.max(0, from - 1);
  if (key === "PageDown") return Math.min(rows - 1, from + inView);
  if (key === "PageUp") return Math.max(0, from - inView);
  if (key === "Home") return 0;
  return key === "End" ? rows - 1 : null;
}
