/** The rows of the list: only those on the screen are drawn, and a page is asked for when it comes near. */

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { getAbout, getMetricNames } from "../../api";
import { groupAt, holds, type Listing } from "../../lib/listing";
import { commonOf as commonOfAll } from "../../lib/alike";
import { commonOf, NOTHING_COMMON } from "../../lib/alikeSamples";
import { asksForReason } from "../../lib/filter";
import { count, figure } from "../../lib/numbers";
import { bare } from "../../lib/preview";
import { groupPx } from "../../lib/strips";
import { activityOf } from "../../state/activity";
import { filterBy, widen } from "../../state/filter";
import { goToRow, isBehind, itemAt, listing, listingError, need, PAGE, position, reload, rowHere, scope } from "../../state/list";
import { field, go, href, onLink } from "../../state/place";
import { room, strips } from "../../state/strips";
import { run } from "../../state/runs";
import { lastStep, stepIndex, steps } from "../../state/steps";
import { Failure, Missing, State } from "../../ui/State";
import { useLoaded } from "../../ui/useLoaded";
import { NARROW, useMatch } from "../../ui/useMatch";
import { useRows } from "../../ui/useRows";
import { NothingDiscarded } from "../discarded/NothingDiscarded";
import { GroupHead } from "./GroupHead";
import { GroupRow } from "./GroupRow";
import { SAMPLE_PX, SampleRow } from "./SampleRow";
import { ROW_PX, TableHead, TableRow, tableColumns } from "./Table";
import { Text } from "../../ui/Text";
import style from "./List.module.css";

export function Rows() {
  const list = listing.value;
  const error = listingError.value;
  // What is wrong with a filter stands below its field; the list stays as it was.
  if (error !== null && isBehind.value && error.place !== null && list === null) return <Unread />;
  if (error !== null && isBehind.value && error.place === null) return <Failure error={error} what="The list" again={() => void reload()} />;
  if (list === null) return <Waiting />;
  if (list.total === 0 && !isBehind.value) return <Empty list={list} />;
  return (
    <>
      {error !== null && !isBehind.value && <Missing error={error} again={() => void reload()} />}
      <Drawn list={list} />
    </>
  );
}

function Drawn({ list }: { list: Listing }) {
  const scroller = useRef<HTMLDivElement>(null);
  const rows = useRef<HTMLUListElement>(null);
  const { mode } = list;
  const rowPx = mode === "table" ? ROW_PX : mode === "groups" ? groupPx(strips.value) : SAMPLE_PX;
  const [abovePx, setAbove] = useState(0);
  const drawn = useRows({ count: list.rows, rowPx, scroller, abovePx });
  const here = rowHere.value;
  const isAlone = useMatch(NARROW);
  useLayoutEffect(() => {
    const element = scroller.current;
    const head = rows.current?.previousElementSibling;
    if (element === null) return undefined;
    const measure = (): void => {
      setAbove(head instanceof HTMLElement ? head.offsetHeight : 0);
      if (element.clientWidth !== room.peek().px || isAlone !== room.peek().isAlone) room.value = { px: element.clientWidth, isAlone };
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    if (head) observer.observe(head);
    return () => observer.disconnect();
  }, [isAlone, mode]);

  // The chosen sample comes into view when another is chosen or the list is another; never while the reader scrolls.
  const hasFocus = useRef(false);
  useEffect(() => {
    if (here === null) return;
    drawn.reveal(here);
    if (!hasFocus.current) return;
    requestAnimationFrame(() => scroller.current?.querySelector<HTMLElement>('[aria-current="true"]')?.focus({ preventScroll: true }));
    // Only when the row or the list is another: the reader's own scrolling is left alone.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [here, list.key, rowPx]);

  // A row that has the focus may be scrolled away: the next key is the list's all the same.
  useLayoutEffect(() => {
    if (hasFocus.current && document.activeElement === document.body) rows.current?.focus({ preventScroll: true });
  });

  const first = drawn.rows[0]?.index ?? 0;
  const last = drawn.rows.at(-1)?.index ?? 0;
  useEffect(() => {
    for (let page = Math.floor(first / PAGE); page <= Math.floor(last / PAGE); page += 1) void need(page);
  }, [first, last, list]);

  const onKeyDown = (event: KeyboardEvent): void => {
    const inView = Math.max(1, Math.floor((scroller.current?.clientHeight ?? rowPx) / rowPx) - 1);
    const to = target(event.key, here, list.rows, inView);
    if (to === null || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    void goToRow(to);
  };

  const columns = mode === "table" ? tableColumns(list.columns) : null;
  const common = commonIn(list);
  const inRow = here ?? 0;
  const focusable = drawn.rows.some(({ index }) => index === inRow) ? inRow : first;
  return (
    <div
      class={`${style["rows"]} ${isBehind.value ? style["behind"] : ""}`}
      ref={scroller}
      data-scroll="list"
      onKeyDown={onKeyDown}
      onFocusCapture={() => (hasFocus.current = true)}
      onBlurCapture={(event) => (hasFocus.current = event.relatedTarget === null && document.hasFocus())}
      role="presentation"
      style={{ "--strip": `${strips.value.strips[0]?.px ?? 0}px` }}
    >
      {columns !== null && <TableHead columns={columns} />}
      {mode === "groups" && <GroupHead strips={strips.value} />}
      <ul ref={rows} tabIndex={-1} class={style["space"]} style={{ height: `${drawn.spacePx}px`, minWidth: columns?.minWidth }} aria-label={mode === "groups" ? "Groups" : "Samples"}>
        {drawn.rows.map(({ index, top }) => {
          const box = `transform: translateY(${top}px); height: ${rowPx}px`;
          const shared = { isHere: index === here, canFocus: index === focusable, box };
          if (mode === "groups") return <GroupRow key={index} {...shared} group={groupAt(list, index)} strips={strips.value} common={common} at={index === here ? position.value : null} isOfSteps={list.scope.step === null} />;
          const item = itemAt(list, index);
          const page = list.pages.get(Math.floor(index / PAGE));
          const beside = item === undefined || page === undefined ? NOTHING_COMMON : commonOf(page, item);
          if (columns !== null) return <TableRow key={index} {...shared} item={item} columns={columns} common={beside} />;
          return <SampleRow key={index} {...shared} item={item} columns={list.columns} common={beside} isOfSteps={list.scope.step === null} />;
        })}
      </ul>
    </div>
  );
}

/** What all prompts of the first page that is there have in common: later pages change none of them. */
function commonIn({ groups }: Listing): ReadonlySet<string> {
  const [first] = groups.values();
  return first === undefined ? NONE : commonOfAll(first, ({ prompt }) => bare(prompt));
}

const NONE: ReadonlySet<string> = new Set();

function target(key: string, here: number | null, rows: number, inView: number): number | null {
  const from = here ?? -1;
  if (key === "ArrowDown") return Math.min(rows - 1, from + 1);
  if (key === "ArrowUp") return Math.max(0, from - 1);
  if (key === "PageDown") return Math.min(rows - 1, from + inView);
  if (key === "PageUp") return Math.max(0, from - inView);
  if (key === "Home") return 0;
  return key === "End" ? rows - 1 : null;
}

/** Nothing to show but a filter that cannot be read; why stands below its field. */
function Unread() {
  return (
    <State title="The filter cannot be read">
      <p>
        <button type="button" class="button" onClick={() => filterBy("")}>
          Clear the filter
        </button>
      </p>
    </State>
  );
}

export function Waiting() {
  const item = run.value;
  if (item !== null && item.splits.length === 0) {
    const goesOn = activityOf(item) === "running";
    return item.progress.phase === "ready" ? (
      <State title={goesOn ? "Running; nothing was recorded yet" : "No sample here yet"}>
        {(!goesOn || item.problems > 0) && (
          <p>The files of this run hold no record that can be shown{item.problems > 0 ? "; the page of problems says why" : ""}.</p>
        )}
        {(goesOn || !item.live) && <p>When a trainer writes one, it appears here by itself.</p>}
        <Beside id={item.id} />
      </State>
    ) : (
      <State title="Reading the first samples …" />
    );
  }
  return <p class="hidden" role="status">Loading</p>;
}

/** What a run holds that has no samples. */
function Beside({ id }: { id: string }) {
  const about = useLoaded(id, () => getAbout(id)).value;
  const metrics = useLoaded(id, () => getMetricNames(id)).value?.names.length ?? 0;
  const reports = (about?.reports ?? []).reduce((sum, one) => sum + one.steps.length, 0);
  return (
    <>
      {reports > 0 && (
        <p>
          <a href={href({ page: "report" })} onClick={onLink({ page: "report" })}>{count(reports, "report")} of its trainer</a>
        </p>
      )}
      {metrics > 0 && <p>Its trainer logged {count(metrics, "metric")}: charts of them can be added at the right.</p>}
      <p>
        <a href={href({ page: "run" })} onClick={onLink({ page: "run" })}>Its configuration, checkpoints and files</a>
      </p>
    </>
  );
}

/** A filter that nothing on this page can fulfil, and the page where something may. */
function OfDiscarded({ where }: { where: string }) {
  return (
    <State title="No sample fulfils the filter">
      <p>
        This page holds what was trained on; <code>{where}</code> asks for what was not.
      </p>
      <p>
        <a class="button" href={href({ discarded: true, sample: null })} onClick={onLink({ discarded: true, sample: null })}>
          Look among what was discarded
        </a>{" "}
        <button type="button" class="button" onClick={() => filterBy("")}>
          Clear the filter
        </button>
      </p>
    </State>
  );
}

/** Why there is nothing: because of the filter, or because the scope holds nothing. */
function Empty({ list }: { list: Listing }) {
  const step = field.step.value;
  const split = field.split.value;
  const newest = lastStep.value;
  if (list.of > 0 && !list.scope.discarded && asksForReason(list.scope.where)) return <OfDiscarded where={list.scope.where} />;
  if (list.of > 0) {
    return (
      <State title="No sample fulfils the filter">
        <p>
          {list.scope.step === null ? "The scope" : `Step ${figure(list.scope.step)}`} holds {figure(list.of)} samples, none with <code>{list.scope.where}</code>.
        </p>
        <p>
          <button type="button" class="button" onClick={() => filterBy("")}>
            Clear the filter
          </button>{" "}
          {list.scope.step !== null && (
            <button type="button" class="button" onClick={() => widen("run")}>
              Look in the whole run
            </button>
          )}
        </p>
      </State>
    );
  }
  if (list.scope.discarded) return <NothingDiscarded />;
  const gone = list.scope.step === null ? 0 : (steps.value?.discarded[stepIndex.value] ?? 0);
  if (gone > 0) {
    return (
      <State title={`Nothing was trained on at step ${figure(step)}`}>
        <p>
          <a href={href({ discarded: true })} onClick={onLink({ discarded: true })}>{count(gone, "sample")} of it were discarded</a>
        </p>
      </State>
    );
  }
  const isInScope = newest !== null && scope.value !== null && holds(scope.value, newest);
  return (
    <State title={list.scope.step === null ? "No samples in these steps" : `No samples at step ${figure(step)}`}>
      <p><Text text={split ?? ""} /> holds nothing {list.scope.step === null ? "there" : "for this step"}.</p>
      {newest !== null && !isInScope && (steps.value?.steps.length ?? 0) > 0 && (
        <p>
          <button type="button" class="button" onClick={() => go({ step: newest, extent: "step" })}>
            Go to step {figure(newest)}, the newest
          </button>
        </p>
      )}
    </State>
  );
}
