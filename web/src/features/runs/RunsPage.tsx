/** All runs of the server, and the paths that it did not open. */

import { useSession } from "../../state/useSession";
import { signal } from "@preact/signals";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { findConfigured, getConfigs } from "../../api";
import { count, figure } from "../../lib/numbers/numbers";
import { runMark } from "../../state/marks";
import { isSearching, notes, placeOf, program, runOf, runs } from "../../state/runs";
import { Text } from "../../ui/text/Text";
import { useFollowed } from "../../ui/hooks/useFollowed";
import { useLoaded } from "../../ui/hooks/useLoaded";
import { textOf } from "../../lib/charts/chart";
import { loadMetrics, metricColumn } from "./metric/metricColumn";
import { MetricSelect } from "./metric/MetricSelect";
import { differingOf, type Sort, sortable, sorted } from "./table/columns";
import { RunTable } from "./table/RunTable";
import { askOf, choiceIn, type TableChoice } from "./table/tableAddress";
import { placeOfTicked, ticked } from "./table/ticked";
import { matchingRuns, wordsIn } from "./runSearch";
import style from "./RunsPage.module.css";

/** Fewer runs need no filter. */
const MANY = 6;
/** The server takes no more words. */
const MAX_WORDS = 16;
const FIND_ID = "find-run";
const NONE: readonly string[] = [];

/** Stays while the page is open: a reader who returns finds the list unchanged. */
const wanted = signal("");
const before = signal<TableChoice>({ metric: null, sort: null });

export function RunsPage() {
  const session = useSession();
  const scroller = useRef<HTMLElement>(null);
  const [showsHidden, showHidden] = useState(false);
  const all = runs.value ?? [];
  const ids = all.map(({ id }) => id).join("\n");
  const { value: configs, again } = useLoaded(all.length > 1 && !isSearching.value ? ids : null, getConfigs, "configs");
  const left = configs?.left ?? 0;
  const leftBefore = useRef(Infinity);
  useEffect(() => {
    // The server reads the configurations of many runs piece by piece.
    if (left > 0 && left < leftBefore.current) again();
    leftBefore.current = left > 0 ? left : Infinity;
    // oxlint-disable-next-line react/exhaustive-deps
  }, [configs]);
  const differing = useMemo(() => differingOf(configs), [configs]);
  const keys = configs?.keys ?? NONE;
  const telling = configs?.telling ?? 0;
  const { ask } = session.place.now.value;
  // oxlint-disable-next-line react/exhaustive-deps -- the address is another object each time
  const { metric: choice, sort } = useMemo(() => choiceIn(ask), [JSON.stringify(ask)]);
  const choose = (change: Partial<TableChoice>): void => {
    before.value = { metric: choice, sort, ...change };
    const { curve: _, value: __, rows: ___, ...others } = ask;
    session.place.go({ ask: { ...others, ...askOf(before.value) } }, "replace");
  };
  useLayoutEffect(() => {
    if (choice === null && sort === null) choose(before.value);
    // Once, for a reader who returns.
    // oxlint-disable-next-line react/exhaustive-deps
  }, []);
  const versions = all.map(({ version }) => version).join(" ");
  const metrics = useFollowed(choice === null ? null : textOf(choice.chart), versions, async () =>
    choice === null ? new Map() : loadMetrics(choice.chart),
  ).value;
  const metric = choice === null ? null : metricColumn(choice, metrics);
  const columns = [...sortable(keys.slice(0, telling), differing), ...(metric === null ? [] : [metric])];
  const text = wanted.value;
  const words = wordsIn(text).slice(0, MAX_WORDS);
  const { value: configured } = useLoaded(
    words.length === 0 ? null : `${words.join(" ")}\n${ids}`,
    async () => {
      const { found } = await findConfigured(words);
      return new Map(words.map((word, i) => [word, new Set(found[i])] as const));
    },
    "configured",
  );
  const hidden = new Set(all.filter(({ id }) => runMark(id).hidden).map(({ id }) => id));
  const hiddenIds = [...hidden].join("\n");
  const indexed = all.filter(({ progress }) => progress.phase !== "scalars").length;
  const shown = useMemo(() => {
    const matches = matchingRuns(all, text, configured ?? undefined).filter(
      ({ id }) => showsHidden || text.trim() !== "" || !hidden.has(id),
    );
    return sorted(
      matches,
      columns.find(({ key }) => key === sort?.key),
      sort?.isDescending === true,
    ).map(({ id }) => id);
    // Rows keep their places while runs grow; when the index of a run is complete, all are sorted again.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [ids, text, configured, sort, showsHidden, hiddenIds, configs, indexed, choice, metrics !== null]);
  const items = shown.flatMap((id) => runOf(id) ?? []);
  const comparison = placeOfTicked();
  const openFirst = (): void => {
    const [first] = items;
    if (first !== undefined) session.place.go(placeOf(first));
  };
  const toFirst = (): void => {
    scroller.current?.scrollTo(0, 0);
    const link = (): HTMLElement | null | undefined => scroller.current?.querySelector<HTMLElement>("[data-row='0'] a");
    const drawn = link();
    if (drawn) drawn.focus();
    else requestAnimationFrame(() => link()?.focus());
  };
  return (
    <main class={style["page"]} ref={scroller}>
      <div class={style["top"]}>
        <h1>
          {all.length === 0
            ? isSearching.value
              ? "Looking for runs …"
              : "No run was recognised"
            : text.trim() === ""
              ? `${count(all.length, "run")}${isSearching.value ? " so far" : ""}`
              : `${figure(items.length)} of ${count(all.length, "run")}`}
        </h1>
        {all.length >= MANY && (
          <input
            id={FIND_ID}
            class={`field ${style["find"]}`}
            type="search"
            aria-label="Find a run"
            placeholder="Find by name, note or configuration: lr=1e-5"
            autocomplete="off"
            spellcheck={false}
            value={text}
            onInput={(event) => (wanted.value = event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key === "Enter") openFirst();
              else if (event.key === "ArrowDown") toFirst();
              else return;
              event.preventDefault();
            }}
          />
        )}
        {all.length > 1 && (
          <MetricSelect
            ids={ids}
            now={choice}
            chosen={(next) =>
              choose({
                metric: next,
                sort: next === null ? null : { key: "metric", isDescending: next.kind !== "lowest" },
              })
            }
          />
        )}
        {all.length > 1 && <Order columns={columns} sort={sort} choose={(next) => choose({ sort: next })} />}
        {comparison !== null && (
          <a class="button" href={session.place.href(comparison)} onClick={session.place.onLink(comparison)}>
            Compare {count(ticked.value.length, "run")}
          </a>
        )}
        {hidden.size > 0 && (
          <button type="button" class="action" aria-pressed={showsHidden} onClick={() => showHidden(!showsHidden)}>
            {count(hidden.size, "hidden run")}
          </button>
        )}
      </div>
      {all.length === 0 ? (
        !isSearching.value && <Empty />
      ) : (
        <RunTable
          {...{ items, scroller, keys, telling, differing, metric, sort }}
          choose={(next) => choose({ sort: next })}
          leave={() => document.querySelector<HTMLElement>(`#${FIND_ID}`)?.focus()}
        />
      )}
      {all.length > 0 && items.length === 0 && (
        <p role="status" class={style["none"]}>
          {text.trim() === ""
            ? "All runs are hidden."
            : "No run has this in its name, format, path, note or configuration."}
        </p>
      )}
      {left > 0 && (
        <p class="quiet" role="status">
          The configurations of {count(left, "run")} are not compared yet.
        </p>
      )}
      <Notes />
      <p class={style["program"]}>{program.value}</p>
    </main>
  );
}

interface OrderProps {
  columns: ReturnType<typeof sortable>;
  sort: Sort | null;
  choose: (sort: Sort | null) => void;
}

/** The sort order, if the table has no headings to press. */
function Order({ columns, sort, choose }: OrderProps) {
  const byKey = (key: string): void => {
    const column = columns.find((one) => one.key === key);
    choose(column === undefined ? null : { key: column.key, isDescending: column.startsDown });
  };
  return (
    <span class={style["order"]}>
      <select
        class="field"
        aria-label="Order of the runs"
        value={sort?.key ?? ""}
        onChange={(event) => byKey(event.currentTarget.value)}
      >
        <option value="">As found</option>
        {columns.map(({ key, label }) => (
          <option key={key} value={key}>
            {label}
          </option>
        ))}
      </select>
      {sort !== null && (
        <button
          type="button"
          class="action"
          aria-label={`Sorted ${sort.isDescending ? "descending" : "ascending"}: reverse the order`}
          onClick={() => choose({ ...sort, isDescending: !sort.isDescending })}
        >
          {sort.isDescending ? "↓" : "↑"}
        </button>
      )}
    </span>
  );
}

function Empty() {
  return (
    <div class={style["empty"]}>
      <p>
        The server found no readable rollouts in its folders
        {notes.value.length > 0 ? ", for the reasons below" : ""}.
      </p>
      <p>
        Start it with a folder that a trainer wrote: <code>rolloupe view RUN_DIR</code>.{" "}
        <code>rolloupe doctor RUN_DIR</code> reports what a folder contains and why it is not recognised.{" "}
        <code>rolloupe demo</code> shows runs that come with Rolloupe.
      </p>
    </div>
  );
}

const NOTES = 100;

function Notes() {
  const [shown, show] = useState(NOTES);
  if (notes.value.length === 0) return null;
  return (
    <details class={style["notes"]} open={(runs.value ?? []).length === 0}>
      <summary>{count(notes.value.length, "path")} not opened</summary>
      <dl>
        {notes.value.slice(0, shown).map((note) => (
          <div key={`${note.path} ${note.reason}`}>
            <dt>
              <Text text={note.path} />
            </dt>
            <dd>
              <Text text={note.reason} />
            </dd>
          </div>
        ))}
      </dl>
      {notes.value.length > shown && (
        <button
          type="button"
          class="button"
          onClick={() => show(shown + NOTES)}
        >{`${count(notes.value.length - shown, "more path")}: show`}</button>
      )}
    </details>
  );
}
