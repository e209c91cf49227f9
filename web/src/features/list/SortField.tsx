/** The sort order of the list, and its direction. */

import type { Session } from "../../state/session";
import { useSession } from "../../state/useSession";
import { useState } from "preact/hooks";
import type { ColumnInfo } from "../../api/types.gen";
import { namesIn } from "../../lib/list/filter";
import { figure, finite, score } from "../../lib/numbers/numbers";
import { harmless } from "../../lib/text/invisible";
import style from "./List.module.css";

/** The most popular columns come first; a run without such a column does not offer it. */
const FIRST = [
  "reward",
  "advantage",
  "avg_log_ratio",
  "sum_log_ratio",
  "avg_kl",
  "sum_kl",
  "max_kl",
  "ref_reward",
  "reward_gap",
  "valid_reward",
  "valid_reward_gap",
];

const WORDS: ReadonlyMap<string, string> = new Map([
  ["avg_log_ratio", "Mean log-ratio"],
  ["sum_log_ratio", "Sum of log-ratio"],
  ["avg_kl", "Mean KL"],
  ["sum_kl", "Sum of KL"],
  ["max_kl", "Largest KL"],
  ["ref_reward", "Reference reward"],
  ["reward_gap", "Reward gap"],
  ["valid_reward", "Validation reward"],
  ["valid_reward_gap", "Validation gap"],
]);

/** The choice of the samples with the lowest rewards; no column has this name. */
const WORST_FIRST = " worst first";

export function SortField() {
  const session = useSession();
  const sort = session.place.field.sort.value;
  const descending = session.place.field.descending.value;
  const mode = session.list.scope.value?.mode ?? "groups";
  // A run may have hundreds of columns: they load when the pointer comes near.
  const [isNear, setNear] = useState(false);
  const isOffered = ({ name, is_empty: isEmpty }: ColumnInfo): boolean =>
    name === sort || (name === "discarded" ? session.place.field.discarded.value : !isEmpty);
  const columns = session.columns.all.value.filter(isOffered);
  const first = FIRST.flatMap((name) => columns.find((column) => column.name === name) ?? []);
  const derived = columns.filter(({ source }) => source === "derived");
  const rest = columns.filter((column) => !first.includes(column) && !derived.includes(column));
  const isDrawn = sort === "index" || sort === "length" || (isNear ? columns : first).some(({ name }) => name === sort);
  const named = filterColumn(session);
  const way = descending ? "descending" : "ascending";
  const same = sameValue(session, sort);
  return (
    <span class={style["sort"]}>
      <span class="quiet" aria-hidden="true">
        Order
      </span>
      <select
        class="field"
        aria-label="Sort by"
        value={sort === "reward" && !descending && mode !== "groups" ? WORST_FIRST : sort}
        onPointerEnter={() => setNear(true)}
        onFocus={() => setNear(true)}
        onChange={({ currentTarget: { value } }) =>
          session.place.go(
            value === WORST_FIRST
              ? { mode: mode === "table" ? "table" : "samples", sort: "reward", descending: false }
              : { sort: value, descending: value !== "index" },
          )
        }
      >
        <option value="index">By index</option>
        {first.some(({ name }) => name === "reward") && <option value={WORST_FIRST}>Worst samples first</option>}
        <option value="length">Response length</option>
        {!isDrawn && <option value={sort}>{wordsOf(session, sort)}</option>}
        {first.map((column) => option(session, column))}
        {isNear && rest.length > 0 && (
          <optgroup label="All columns">{rest.map((column) => option(session, column))}</optgroup>
        )}
        {isNear && derived.length > 0 && (
          <optgroup label="Derived from texts and tokens">{derived.map((column) => option(session, column))}</optgroup>
        )}
      </select>
      <button
        type="button"
        class={`action ${style["way"]}`}
        aria-label={`Sorted ${way}: reverse the order`}
        title={`Sorted ${way}. Press to reverse`}
        onClick={() => session.place.go({ descending: !descending })}
      >
        {descending ? "↓" : "↑"}
      </button>
      {same !== null && <small class="quiet">all {Number.isInteger(same) ? figure(same) : score(same)}</small>}
      {named !== null && named !== sort && (
        <button
          type="button"
          class="action"
          title={harmless(`Sort by ${wordsOf(session, named)}, as in the filter: greatest first`)}
          onClick={() => session.place.go({ sort: named, descending: true })}
        >
          <span class="clip">by {harmless(fieldOf(session, named))}</span>
        </button>
      )}
    </span>
  );
}

/** The value of a column if all samples of the list have it; null if not, or if the page does not know. */
function sameValue(session: Session, name: string): number | null {
  const list = session.list.now.value;
  const at = list?.columns.indexOf(name) ?? -1;
  if (list === null || list.total < 2 || at < 0 || list.scope.sort !== name) return null;
  const values = [
    ...[...list.groups.values()].flat().flatMap(({ cells }) => cells[at] ?? []),
    ...[...list.pages.values()].flat().map((item) => item.values[at]),
  ].map((value) => finite(value ?? null));
  const [first = null] = values;
  return values.length === list.total && values.every((value) => value === first) ? first : null;
}

const DERIVED = "derived.";

/** The first column of numbers that the filter names; null for none. */
function filterColumn(session: Session): string | null {
  const names = namesIn(session.place.field.where.value);
  const known = names.flatMap((name) => session.columns.named(name) ?? session.columns.named(DERIVED + name) ?? []);
  return known.find(({ kind }) => kind === "number")?.name ?? null;
}

/** The name of a column in filters: `derived.` is left out unless another column has the name. */
function fieldOf(session: Session, name: string): string {
  const bare = name.startsWith(DERIVED) ? name.slice(DERIVED.length) : name;
  return bare === name || session.columns.named(bare) !== null ? name : bare;
}

/** The label of a column, with its name in filters if that differs. */
function wordsOf(session: Session, name: string): string {
  const label = WORDS.get(name) ?? session.columns.label(name);
  const isFixed = (session.columns.named(name)?.source ?? "fixed") === "fixed";
  return harmless(isFixed || label === name ? label : `${label} (${fieldOf(session, name)})`);
}

function option(session: Session, { name }: ColumnInfo) {
  return (
    <option key={name} value={name}>
      {wordsOf(session, name)}
    </option>
  );
}
