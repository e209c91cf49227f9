/** The rules that a run has too little for, each with what is missing. */

import type { UncheckedItem } from "../../../api/types.gen";
import { count } from "../../../lib/numbers/numbers";
import { harmless } from "../../../lib/text/invisible";
import style from "../Metrics.module.css";

export function Unchecked({ rules }: { rules: readonly UncheckedItem[] }) {
  if (rules.length === 0) return null;
  return (
    <details class={style["quiet"]}>
      <summary>{count(rules.length, "rule")} could not be checked</summary>
      <ul aria-label="Rules that could not be checked">
        {rules.map(({ rule, reason }) => (
          <li key={rule}>
            <code>{harmless(rule)}</code>: {harmless(reason)}
          </li>
        ))}
      </ul>
    </details>
  );
}
