/** The samples of the step: by group, or in one list by reward or length. Only the rows on the screen are drawn. */

import { useEffect, useRef } from "preact/hooks";
import { count, figure } from "../../lib/numbers";
import { goTo, isBehind, itemAt, listing, listingError, need, PAGE, position, reload } from "../../state/list";
import { go, href, onLink, place } from "../../state/place";
import { run } from "../../state/runs";
import { choose } from "../../state/settings";
import { lastStep, stepIndex, steps } from "../../state/steps";
import { Failure, State } from "../../ui/State";
import { useVirtual } from "../../ui/useVirtual";
import { NothingDiscarded } from "../discarded/NothingDiscarded";
import { Splits } from "../runs/Splits";
import { GroupRow } from "./GroupRow";
import { SampleRow } from "./SampleRow";
import { SortBar } from "./SortBar";
import style from "./List.module.css";

const GROUP_PX = 52;
const SAMPLE_PX = 30;
const FLAT_PX = 48;

export function List() {
  return (
    <>
      <Splits inList />
      <div class={style["bar"]}>
        <SortBar />
        <span class={style["total"]}>
          <Total />
        </span>
        <button type="button" class={`action ${style["fold"]}`} aria-label="Fold the list away" title="Fold the list away" onClick={() => choose({ leftOpen: false })}>
          ‹
        </button>
      </div>
      <Rows />
    </>
  );
}

function Total() {
  const list = listing.value;
  if (list === null) return null;
  const groups = list.groups.length;
  const gone = list.scope.discarded ? 0 : (steps.value?.discarded[stepIndex.value] ?? 0);
  return (
    <>
      {groups > 0 && `${count(groups, "group")} · `}
      {figure(list.total)}
      {gone > 0 && !isBehind.value && (
        <>
          {" "}
          <a href={href({ discarded: true })} onClick={onLink({ discarded: true })} title={`The other ${count(gone, "sample")} of this step were discarded: see them`}>of {figure(list.total + gone)}</a>
        </>
      )}
    </>
  );
}

function Rows() {
  const scroller = useRef<HTMLDivElement>(null);
  const list = listing.value;
  const isFlat = list?.isFlat ?? true;
  const rows = list?.rows;
  const height = (row: number): number => {
    if (isFlat) return FLAT_PX;
    return rows?.at(row).kind === "group" ? GROUP_PX : SAMPLE_PX;
  };
  const virtual = useVirtual({ count: rows?.length ?? 0, scroller, height, shape: rows });
  const items = virtual.getVirtualItems();
  const here = position.value;

  // The chosen sample comes into view when another is chosen or the list is another; never while the reader scrolls.
  const hasFocus = useRef(false);
  useEffect(() => {
    if (here === null || rows === undefined) return;
    virtual.scrollToIndex(rows.rowOf(here), { align: "auto" });
    if (!hasFocus.current) return;
    requestAnimationFrame(() => scroller.current?.querySelector<HTMLElement>('[aria-current="true"]')?.focus({ preventScroll: true }));
  }, [virtual, here, list?.key, rows]);

  useEffect(() => {
    const places = items.flatMap(({ index }) => {
      const row = rows?.at(index);
      return row?.kind === "sample" ? [row.place] : [];
    });
    for (const page of new Set(places.map((at) => Math.floor(at / PAGE)))) void need(page);
  });

  if (listingError.value?.status === 404 && isBehind.value) return <Empty />;
  if (listingError.value !== null && isBehind.value) return <Failure error={listingError.value} what="The list" again={() => void reload()} />;
  if (list === null) return <Waiting />;
  if (list.total === 0 && !isBehind.value) return <Empty />;

  const onKeyDown = (event: KeyboardEvent): void => {
    const to = target(event.key, here, list.total);
    if (to === null || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    void goTo(to);
  };

  return (
    <div
      class={`${style["rows"]} ${isBehind.value ? style["behind"] : ""}`}
      ref={scroller}
      data-scroll="list"
      onKeyDown={onKeyDown}
      onFocusCapture={() => (hasFocus.current = true)}
      onBlurCapture={(event) => (hasFocus.current = event.relatedTarget === null && document.hasFocus())}
      role="presentation"
    >
      <ul class={style["space"]} style={{ height: `${virtual.getTotalSize()}px` }} aria-label="Samples">
        {items.map(({ index, start, size }) => {
          const row = list.rows.at(index);
          const box = { transform: `translateY(${start}px)`, height: `${size}px` };
          if (row.kind === "group") return <GroupRow key={`g ${row.group.group}`} group={row.group} box={box} first={firstOf(index)} />;
          return (
            <SampleRow
              key={row.place}
              item={itemAt(list, row.place)}
              isHere={row.place === here}
              canFocus={row.place === (here ?? 0)}
              isFlat={isFlat}
              byChars={list.column === "response_chars"}
              box={box}
            />
          );
        })}
      </ul>
    </div>
  );

  function firstOf(heading: number): number {
    const below = list?.rows.at(heading + 1);
    return below?.kind === "sample" ? below.place : 0;
  }
}

function target(key: string, here: number | null, total: number): number | null {
  const from = here ?? -1;
  if (key === "ArrowDown") return Math.min(total - 1, from + 1);
  if (key === "ArrowUp") return Math.max(0, from - 1);
  if (key === "Home") return 0;
  return key === "End" ? total - 1 : null;
}

function Waiting() {
  const item = run.value;
  if (item !== null && item.splits.length === 0) {
    return item.progress.phase === "ready" ? (
      <State title="No sample here yet">
        <p>The files of this run hold no record that can be shown{item.problems > 0 ? "; the page of problems says why" : ""}.</p>
        {!item.live && <p>When a trainer writes one, it appears here by itself.</p>}
      </State>
    ) : (
      <State title="Reading the first samples …" />
    );
  }
  return <p class="hidden" role="status">Loading</p>;
}

function Empty() {
  const { step, split, discarded } = place.value;
  const newest = lastStep.value;
  if (discarded) return <NothingDiscarded />;
  const gone = steps.value?.discarded[stepIndex.value] ?? 0;
  if (gone > 0) {
    return (
      <State title={`Nothing was trained on at step ${figure(step)}`}>
        <p>
          <a href={href({ discarded: true })} onClick={onLink({ discarded: true })}>{count(gone, "sample")} of it were discarded</a>
        </p>
      </State>
    );
  }
  return (
    <State title={`No samples at step ${figure(step)}`}>
      <p>{split} holds nothing for this step.</p>
      {newest !== null && (
        <p>
          <button type="button" class="button" onClick={() => go({ step: newest })}>
            Go to step {figure(newest)}, the newest
          </button>
        </p>
      )}
    </State>
  );
}
