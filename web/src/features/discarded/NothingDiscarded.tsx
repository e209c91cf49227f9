/** What stands where discarded samples would, if there are none: at this step, or anywhere. */

import { figure } from "../../lib/numbers";
import { nearest } from "../../lib/rows";
import { field, go, href, onLink } from "../../state/place";
import { steps } from "../../state/steps";
import { State } from "../../ui/State";
import { Text } from "../../ui/Text";

export function NothingDiscarded() {
  const step = field.step.value;
  const split = field.split.value;
  const known = steps.value;
  const some = (known?.steps ?? []).filter((_, at) => (known?.discarded[at] ?? 0) > 0);
  const to = some[nearest(some, step ?? 0)];
  return (
    <State title={to === undefined ? "Nothing was discarded" : `Nothing was discarded at step ${figure(step)}`}>
      {to === undefined ? (
        <p>Of <Text text={split ?? ""} /> the files name no sample that was not trained on. Not every trainer writes them down.</p>
      ) : (
        <p>
          <button type="button" class="button" onClick={() => go({ step: to })}>Go to step {figure(to)}, the nearest with some</button>
        </p>
      )}
      <p>
        <a href={href({ discarded: false })} onClick={onLink({ discarded: false })}>See what was trained on</a>
      </p>
    </State>
  );
}
