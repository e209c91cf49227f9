/** The small navigator below what is read: where it stands, and the way to what is before and after it. */

import { figure } from "../../lib/numbers/numbers";
import style from "./Pager.module.css";

interface Props {
  /** For those who hear it. */
  label: string;
  /** Counted from 1. */
  at: number;
  of: number;
  title?: string;
  isFirst: boolean;
  isLast: boolean;
  go: (by: -1 | 1) => void;
}

export function Pager({ label, at, of, title, isFirst, isLast, go }: Props) {
  return (
    <nav class={style["pager"]} aria-label={label}>
      <button
        type="button"
        aria-label="Previous sample"
        title="Previous sample (←)"
        aria-disabled={isFirst}
        onClick={() => go(-1)}
      >
        <kbd>←</kbd>
      </button>
      <span title={title}>
        {figure(at)} / {figure(of)}
      </span>
      <button
        type="button"
        aria-label="Next sample"
        title="Next sample (→)"
        aria-disabled={isLast}
        onClick={() => go(1)}
      >
        <kbd>→</kbd>
      </button>
    </nav>
  );
}
