/** How the list is sorted: pressed again, the other way round. */

import type { Sort } from "../../lib/address";
import { go, place } from "../../state/place";
import style from "./SortBar.module.css";

const SORTS: readonly { value: Sort; label: string; words: string }[] = [
  { value: "index", label: "Groups", words: "by group, in the order of the run" },
  { value: "reward", label: "Reward", words: "by reward" },
  { value: "length", label: "Length", words: "by length of the response" },
];

export function SortBar() {
  const { sort, descending } = place.value;
  return (
    <div class={style["sorts"]} role="group" aria-label="Sort">
      {SORTS.map(({ value, label, words }) => {
        const isHere = value === sort;
        const way = isHere ? (descending ? ", down" : ", up") : "";
        return (
          <button
            key={value}
            type="button"
            class={`action ${style["sort"]}`}
            aria-pressed={isHere}
            title={isHere ? `Sorted ${words}${way}. Press to turn it round` : `Sort ${words}`}
            onClick={() => go({ sort: value, descending: isHere ? !descending : value !== "index" && descending })}
          >
            {label}
            <span class="hidden">{way}</span>
            <span class={style["way"]} aria-hidden="true">{isHere ? (descending ? "↓" : "↑") : ""}</span>
          </button>
        );
      })}
    </div>
  );
}
