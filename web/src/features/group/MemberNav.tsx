/** The small navigator that floats over a group: which of its samples is looked at, and the way to the next. */

import { figure } from "../../lib/numbers";
import { goMember, shownIds } from "../../state/group";
import { field } from "../../state/place";
import style from "../sample/MiniNav.module.css";

export function MemberNav() {
  const ids = shownIds.value;
  const at = ids.indexOf(field.sample.value ?? "");
  if (at < 0) return null;
  return (
    <nav class={style["mini"]} aria-label="Samples of this group">
      <button type="button" aria-label="Previous sample" title="Previous sample (←)" aria-disabled={at === 0} onClick={() => goMember(-1)}>
        <kbd>←</kbd>
      </button>
      <span>{figure(at + 1)} / {figure(ids.length)}</span>
      <button type="button" aria-label="Next sample" title="Next sample (→)" aria-disabled={at === ids.length - 1} onClick={() => goMember(1)}>
        <kbd>→</kbd>
      </button>
    </nav>
  );
}
