/** The left pane: what is in the scope, as groups, as samples or as a table; narrowed, sorted, counted. */

import { count, figure } from "../../lib/numbers";
import type { Mode } from "../../lib/address";
import { isBehind, listing, scope } from "../../state/list";
import { href, onLink } from "../../state/place";
import { choose } from "../../state/settings";
import { stepIndex, steps } from "../../state/steps";
import { chooseMode, isWide } from "../../state/view";
import { Segments } from "../../ui/Segments";
import { Splits } from "../runs/Splits";
import { FilterField } from "./FilterField";
import { Gear } from "./Gear";
import { Rows } from "./Rows";
import { ScopeField } from "./ScopeField";
import { SortField } from "./SortField";
import style from "./List.module.css";

const MODES: readonly { value: Mode; label: string; title: string }[] = [
  { value: "groups", label: "Groups", title: "A row a group: its prompt, and a cell for each of its samples" },
  { value: "samples", label: "Samples", title: "A row a sample" },
  { value: "table", label: "Table", title: "A row a sample, with any columns; as wide as the page" },
];

export function List() {
  const mode = scope.value?.mode ?? listing.value?.mode ?? "groups";
  return (
    <>
      <Splits inList />
      <div class={style["bar"]}>
        <Segments label="Show" options={MODES} value={mode} choose={chooseMode} />
        <span class={`within ${style["total"]}`} role="status">
          <Total />
        </span>
        {mode === "table" && (
          <button type="button" class="action" aria-pressed={isWide.value} title={isWide.value ? "Show the sample beside the table" : "Over the sample, too"} onClick={() => (isWide.value = !isWide.value)}>
            Wide
          </button>
        )}
        <button type="button" class={`action ${style["fold"]}`} aria-label="Fold the list away" title="Fold the list away" onClick={() => choose({ leftOpen: false })}>
          ‹
        </button>
      </div>
      <div class={style["tools"]}>
        <FilterField />
        <div class={style["line"]}>
          <ScopeField />
          <SortField />
          <Gear mode={mode} />
        </div>
      </div>
      <Rows />
    </>
  );
}

/** How many there are, exactly: `37 of 512 samples` where a filter holds, with groups `5 groups · 37 of 512`. */
function Total() {
  const list = listing.value;
  if (list === null || isBehind.value) return null;
  const isFiltered = list.scope.where.trim() !== "";
  const samples = isFiltered ? `${figure(list.total)} of ${figure(list.of)}` : figure(list.total);
  const words = isFiltered ? `${figure(list.total)} of ${count(list.of, "sample")}` : count(list.total, "sample");
  const gone = isFiltered || list.scope.discarded || list.scope.step === null ? 0 : (steps.value?.discarded[stepIndex.value] ?? 0);
  return (
    <>
      {list.mode === "groups" ? (
        <span title={`${count(list.rows, "group")}, ${words}`}>{`${count(list.rows, "group")} · ${samples}`}</span>
      ) : (
        <span title={words}>{words}</span>
      )}
      {gone > 0 && (
        <>
          {" "}
          <a href={href({ discarded: true })} onClick={onLink({ discarded: true })} title={`The other ${count(gone, "sample")} of this step were discarded: see them`}>of {figure(list.total + gone)}</a>
        </>
      )}
    </>
  );
}
