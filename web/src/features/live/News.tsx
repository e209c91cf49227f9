/** News since the list was loaded. It waits for a press, so that nothing moves while someone reads. */

import { useSession } from "../../state/useSession";
import { count } from "../../lib/numbers/numbers";
import style from "./News.module.css";

export function News() {
  const session = useSession();
  const samples = session.live.newSamples.value;
  const steps = session.live.newSteps.value;
  const isSaid = !session.live.isFollowing.value;
  return (
    <span class={style["news"]} aria-live="polite">
      {isSaid && samples > 0 && (
        <button type="button" class="action strong" title="Update the list" onClick={() => void session.live.showNew()}>
          {count(samples, "new sample")}
        </button>
      )}
      {isSaid && session.live.isStale.value && (
        <button
          type="button"
          class="action strong"
          title="This step has changed since the list was loaded"
          onClick={() => void session.live.showNew()}
        >
          Step changed · reload
        </button>
      )}
      {isSaid && steps > 0 && (
        <button
          type="button"
          class="action strong"
          title="Go to the newest step, once; Follow also goes to those that come later"
          onClick={session.live.goNewest}
        >
          {count(steps, "new step")}
        </button>
      )}
    </span>
  );
}
