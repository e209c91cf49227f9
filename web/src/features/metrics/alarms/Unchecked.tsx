/** The rules that could not be checked, each with the missing data. */

import type { UncheckedRule } from "../../../api/types.gen";
import { count } from "../../../lib/numbers/numbers";
import { harmless } from "../../../lib/text/invisible";
import style from "../Metrics.module.css";

interface Props {
  /** `of` names the run; empty for a run alone. */
  runs: readonly { of: string; rules: readonly UncheckedRule[] }[];
}

export function Unchecked({ runs }: Props) {
  const names = new Set(runs.flatMap(({ rules }) => rules.map(({ rule }) => rule)));
  if (names.size === 0) return null;
  return (
    <details class={style["quiet"]}>
      <summary>
        {count(names.size, "rule")} could not be checked{runs.length > 1 && " in every run"}
      </summary>
      <ul aria-label="Rules that could not be checked">
        {runs.flatMap(({ of, rules }) =>
          rules.map(({ rule, reason }) => (
            <li key={`${of} ${rule}`}>
              {of !== "" && `${harmless(of)}, `}
              <code>{harmless(rule)}</code>: {harmless(reason)}
            </li>
          )),
        )}
      </ul>
    </details>
  );
}
