/** The words that the page and a report share: the class of a finding, and how sure a broken rule is. */

import style from "./Chip.module.css";

/** The classes whose samples are open from the start. */
export const isUrgent = (kind: string): boolean => kind === "suspect" || kind === "unverified";

/** The class of a finding; `meaning` says what that is. */
export function Chip({ kind, meaning }: { kind: string; meaning?: string | undefined }) {
  return (
    <span class={style["chip"]} data-class={kind} title={meaning}>
      {kind}
    </span>
  );
}

export const Verdict = ({ isCertain }: { isCertain: boolean }) => <b>{isCertain ? "Wrong" : "Worth a look"}</b>;
