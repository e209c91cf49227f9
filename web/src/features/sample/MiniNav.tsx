/** The small navigator below the sample: where it stands, what is before and after it. */

import { figure } from "../../lib/numbers";
import { goOn, listing, position } from "../../state/list";
import { isShown, sample } from "../../state/sample";
import style from "./MiniNav.module.css";

export function MiniNav() {
  const list = listing.value;
  const here = position.value;
  if (list === null || here === null) return null;
  // Among its group where whole groups are listed, and leafed through one after another; otherwise among what is listed.
  const isWhole = list.mode === "groups" && list.scope.sort === "index" && list.scope.where === "";
  const inGroup = isWhole && isShown.value && sample.value !== null;
  const [at, of] = inGroup && sample.value !== null ? [sample.value.position, sample.value.group_size] : [here + 1, list.total];
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
