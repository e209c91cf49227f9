/** What came since the list was loaded. It waits to be asked: what is being read does not move. */

import { count } from "../../lib/numbers";
import { goNewest, isFollowing, isStale, newSamples, newSteps, showNew } from "../../state/live";
import style from "./News.module.css";

export function News() {
  const samples = newSamples.value;
  const steps = newSteps.value;
  const isSaid = !isFollowing.value;
  return (
    <span class={style["news"]} aria-live="polite">
      {isSaid && samples > 0 && (
        <button type="button" class="action strong" title="Bring the list up to date" onClick={() => void showNew()}>
          {count(samples, "new sample")}
        </button>
      )}
      {isSaid && isStale.value && (
        <button type="button" class="action strong" title="This step has changed since the list was loaded" onClick={() => void showNew()}>
          Step changed · reload
        </button>
      )}
      {isSaid && steps > 0 && (
        <button type="button" class="action strong" title="Go to the newest step" onClick={goNewest}>
          {count(steps, "new step")}
        </button>
      )}
    </span>
  );
}
