/** The small navigator below the content: the current place, and the way to the previous and the next one. */

import { figure } from "../../lib/numbers/numbers";
import style from "./Pager.module.css";

interface Props {
  /** For screen readers. */
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
