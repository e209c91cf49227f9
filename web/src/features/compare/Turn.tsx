/** Pages through the rows of a table: says which are shown, and leads to the previous and the next ones. */

import { figure } from "../../lib/numbers/numbers";
import style from "./Compare.module.css";

interface Props {
  /** For screen readers. */
  label: string;
  offset: number;
  shown: number;
  total: number;
  /** Rows of a page. */
  limit: number;
  go: (offset: number) => void;
}

export function Turn({ label, offset, shown, total, limit, go }: Props) {
  if (total <= shown && offset === 0) return null;
  return (
    <nav class={style["turn"]} aria-label={label}>
      <button type="button" class="button" disabled={offset === 0} onClick={() => go(Math.max(0, offset - limit))}>
        Previous
      </button>
      <span>
        {figure(offset + 1)} to {figure(offset + shown)} of {figure(total)}
      </span>
      <button type="button" class="button" disabled={offset + shown >= total} onClick={() => go(offset + limit)}>
        Next
      </button>
    </nav>
  );
}
