/** The navigation of a text that comes in blocks. */

import { figure } from "../../lib/numbers/numbers";
import style from "./RawRecord.module.css";

interface Props {
  start: number;
  stop: number;
  total: number;
  /** A number of bytes or characters, in words. */
  words: (count: number) => string;
  /** The approximate length of a block. */
  block: number;
  go: (start: number) => void;
}

export function Blocks({ start, stop, total, words, block, go }: Props) {
  if (start === 0 && stop >= total) return null;
  return (
    <nav class={style["blocks"]} aria-label="Blocks of this text">
      <span>
        {figure(start)}–{figure(stop)} of {words(total)}
      </span>
      {start > 0 && (
        <button type="button" class="action" onClick={() => go(0)}>
          First block
        </button>
      )}
      {start > 0 && (
        <button type="button" class="action" onClick={() => go(Math.max(0, start - block))}>
          Before
        </button>
      )}
      {stop < total && (
        <button type="button" class="action" onClick={() => go(stop)}>
          After
        </button>
      )}
      {stop < total && (
        <button type="button" class="action" onClick={() => go(Math.max(0, total - block))}>
          Last block
        </button>
      )}
    </nav>
  );
}
