/** The small navigator below the sample: where it stands, what is before and after it. */

import { figure } from "../../lib/numbers";
import { goOn, groupHere, listing, position } from "../../state/list";
import style from "./MiniNav.module.css";

export function MiniNav() {
  const list = listing.value;
  const here = position.value;
  if (list === null || here === null) return null;
  // Among its group where whole groups are listed, and leafed through one after another; otherwise among what is listed.
  const isWhole = list.scope.sort === "index" && list.scope.where === "" && !list.scope.discarded;
  const group = isWhole ? groupHere.value : null;
  const [at, of] = group === null ? [here + 1, list.total] : [here - group.first + 1, group.samples];
  return (
    <nav class={style["mini"]} aria-label="Samples before and after this one">
      <button type="button" aria-label="Previous sample" title="Previous sample (←)" aria-disabled={here <= 0} onClick={() => void goOn(-1)}>
        <kbd>←</kbd>
      </button>
      <span title={`Sample ${figure(here + 1)} of ${figure(list.total)} in the list`}>
        {figure(at)} / {figure(of)}
      </span>
      <button type="button" aria-label="Next sample" title="Next sample (→)" aria-disabled={here >= list.total - 1} onClick={() => void goOn(1)}>
        <kbd>→</kbd>
      </button>
    </nav>
  );
}
