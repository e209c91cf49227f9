/** The answer of the reference model, its reward, and the distance of the sample's reward from it. */

import { useSession } from "../../../state/useSession";
import type { Reference } from "../../../api/types.gen";
import { exact, finite, score, signed } from "../../../lib/numbers/numbers";
import { share, stop } from "../../../lib/colour/scales";
import { OF_REFERENCE } from "../../../state/sample/differences";
import { Turn } from "../transcript/Turn";
import style from "./ReferenceSection.module.css";

interface Props {
  reference: Reference;
  /** True if it is beside the response. */
  class?: string | undefined;
  turnsClass?: string | undefined;
}

export function ReferenceSection({ reference, class: className = "", turnsClass }: Props) {
  const session = useSession();
  const at = share(finite(reference.reward), session.ranges.reward.value);
  const gap = finite(reference.gap);
  return (
    <section class={`${style["reference"]} ${className}`} aria-label="Reference response">
      <header class={style["head"]}>
        <h2>Reference</h2>
        <dl>
          {reference.reward !== null && (
            <div title={exact(reference.reward)}>
              <dt>Reward</dt>
              <dd style={at === null ? undefined : { color: `var(--reward-ink-${stop(at)})` }}>
                {score(reference.reward)}
              </dd>
            </div>
          )}
          {reference.gap !== null && (
            <div title={`the sample's reward minus the reference's: ${exact(reference.gap)}`}>
              <dt>Gap</dt>
              <dd style={gap ? { color: `var(--advantage-ink-${gap > 0 ? "pos" : "neg"})` } : undefined}>
                {signed(reference.gap)}
              </dd>
            </div>
          )}
        </dl>
      </header>
      <div class={turnsClass}>
        {reference.turns.map((turn, i) => (
          // The turns of a response never change their order, so their index identifies them.
          <Turn key={i} turn={turn} at={`${OF_REFERENCE}${i}`} number={null} />
        ))}
        {reference.turns.length === 0 && <p class="quiet">The record has its reward but no text.</p>}
      </div>
    </section>
  );
}
