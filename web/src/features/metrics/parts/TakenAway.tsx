/** Brings the chart back that was taken away last, with its settings and in its place. */

import { harmless } from "../../../lib/text/invisible";
import { useSession } from "../../../state/useSession";
import style from "./Parts.module.css";

export function TakenAway() {
  const { layout } = useSession();
  const taken = layout.taken.value;
  return (
    <div role="status" class={style["taken"]}>
      {taken !== null && (
        <p>
          <span class="clip">{harmless(taken.title)} is taken away.</span>
          <button type="button" class="action" onClick={() => layout.bringBack()}>
            Undo
          </button>
        </p>
      )}
    </div>
  );
}
