/** Explains an empty list of discarded samples: none at this step, or none anywhere. */

import { useSession } from "../../state/useSession";
import { figure } from "../../lib/numbers/numbers";
import { nearest } from "../../lib/numbers/nearest";
import { State } from "../../ui/layout/EmptyState";
import { Text } from "../../ui/text/Text";

export function NothingDiscarded() {
  const session = useSession();
  const step = session.place.field.step.value;
  const split = session.place.field.split.value;
  const reply = session.steps.reply.value;
  const some = (reply?.steps ?? []).filter((_, at) => (reply?.discarded[at] ?? 0) > 0);
  const to = some[nearest(some, step ?? 0)];
  return (
    <State title={to === undefined ? "Nothing was discarded" : `Nothing was discarded at step ${figure(step)}`}>
      {to === undefined ? (
        <p>
          The files list no discarded samples of <Text text={split ?? ""} />. Not every trainer writes them.
        </p>
      ) : (
        <p>
          <button type="button" class="button" onClick={() => session.place.go({ step: to })}>
            Go to step {figure(to)}, the nearest step with discarded samples
          </button>
        </p>
      )}
      <p>
        <a href={session.place.href({ discarded: false })} onClick={session.place.onLink({ discarded: false })}>
          Show the samples that were trained on
        </a>
      </p>
    </State>
  );
}
