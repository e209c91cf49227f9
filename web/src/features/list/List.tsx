/** The left pane: its scope as groups, as samples or as a table; filtered, sorted, counted. */

import { useSession } from "../../state/useSession";
import { count, figure } from "../../lib/numbers/numbers";
import type { Mode } from "../../lib/address/address";
import { choose } from "../../state/browser/settings";
import { Segments } from "../../ui/controls/Segments";
import { Text } from "../../ui/text/Text";
import { Splits } from "../runs";
import { FilterField } from "./filter/FilterField";
import { PickMenu } from "./filter/PickMenu";
import { Gear } from "./ListOptions";
import { Rows } from "./rows/Rows";
import { ScopeField } from "./ScopeField";
import { SortField } from "./SortField";
import style from "./List.module.css";

const MODES: readonly { value: Mode; label: string; title: string }[] = [
  { value: "groups", label: "Groups", title: "One row per group: its prompt and a cell for each sample" },
  { value: "samples", label: "Samples", title: "One row per sample" },
  { value: "table", label: "Table", title: "One row per sample, with any columns, as wide as the page" },
];

export function List() {
  const session = useSession();
  const mode = session.list.scope.value?.mode ?? session.list.now.value?.mode ?? "groups";
  return (
    <>
      <Splits inList />
      <div class={style["bar"]}>
        <Segments label="Show" options={MODES} value={mode} choose={session.view.chooseMode} />
        <span class={`within ${style["total"]}`} role="status">
          <Total />
        </span>
        {mode === "table" && (
          <button
            type="button"
            class="action"
            aria-pressed={session.view.isWide.value}
            title={session.view.isWide.value ? "Show the sample beside the table" : "Use the full width"}
            onClick={() => (session.view.isWide.value = !session.view.isWide.value)}
          >
            Wide
          </button>
        )}
        <button
          type="button"
          class={`action ${style["fold"]}`}
          aria-label="Hide the list"
          title="Hide the list"
          onClick={() => choose({ leftOpen: false })}
        >
          ‹
        </button>
      </div>
      <div class={style["tools"]}>
        <FilterField />
        <div class={style["line"]}>
          <ScopeField />
          <span class={style["menus"]}>
            <PickMenu />
            <Gear mode={mode} />
          </span>
          <SortField />
        </div>
        <Lacking />
      </div>
      <Rows />
    </>
  );
}

/** Says which samples the filter cannot judge, because they lack tokens or derived metrics. */
export function Lacking() {
  const list = useSession().list.now.value;
  if (list === null || list.total === 0 || list.reasons.length === 0) return null;
  return (
    <p class="quiet">
      <Text text={list.reasons.join(" ")} />
    </p>
  );
}

/** The progress of the list that the reader waits for. */
function Counting() {
  const now = useSession().pages.counting.value;
  if (now === null) return null;
  const share = Math.floor((100 * now.done) / now.of);
  return (
    <span class="quiet" aria-live="off" title={`${figure(now.done)} of ${count(now.of, "sample")} looked at`}>
      {`${share}% · ${figure(now.found)} found`}
    </span>
  );
}

/** The exact counts: `37 of 512 samples` with a filter, with groups `5 groups · 37 of 512 samples`. */
export function Total() {
  const session = useSession();
  const list = session.list.now.value;
  if (list === null || session.list.isBehind.value) return <Counting />;
  const isFiltered = list.scope.where.trim() !== "";
  const words = isFiltered ? `${figure(list.total)} of ${count(list.of, "sample")}` : count(list.total, "sample");
  const discards = isFiltered
    ? list.discarded
    : list.scope.discarded || list.scope.step === null
      ? 0
      : (session.steps.reply.value?.discarded[session.steps.index.value] ?? 0);
  return (
    <>
      {list.mode === "groups" ? <span>{`${count(list.rows, "group")} · ${words}`}</span> : <span>{words}</span>}
      {list.pending > 0 && (
        <span class="quiet" title="Their texts have not been read yet, so these samples do not match">
          {` · ${figure(list.pending)} not read yet`}
        </span>
      )}
      {discards > 0 && (
        <>
          {" "}
          <a
            href={session.place.href({ discarded: true })}
            onClick={session.place.onLink({ discarded: true })}
            title={
              isFiltered
                ? `${count(discards, "discarded sample")} match the filter too: see them`
                : `The other ${count(discards, "sample")} of this step were discarded: see them`
            }
          >
            {`+ ${figure(discards)} discarded`}
          </a>
        </>
      )}
    </>
  );
}
