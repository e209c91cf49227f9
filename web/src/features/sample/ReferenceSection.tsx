/** What the reference model answered, its reward, and how far the sample's is above it. */

import type { Reference } from "../../api/types.gen";
import { exact, finite, score, signed } from "../../lib/numbers";
import { share, stop } from "../../lib/reward";
import { OF_REFERENCE } from "../../state/differing";
import { range } from "../../state/ranges";
import { Turn } from "./Turn";
import style from "./ReferenceSection.module.css";

interface Props {
  reference: Reference;
  /** Where it stands beside the response. */
  class?: string | undefined;
  turnsClass?: string | undefined;
}

export function ReferenceSection({ reference, class: className = "", turnsClass }: Props) {
  const at = share(finite(reference.reward), range.value);
  const gap = finite(reference.gap);
  return (
    <section class={`${style["reference"]} ${className}`} aria-label="Reference response">
      <header class={style["head"]}>
        <h2>Reference</h2>
        <dl>
          {reference.reward !== null && (
            <div title={exact(reference.reward)}>
              <dt>Reward</dt>
              <dd style={at === null ? undefined : { color: `var(--reward-ink-${stop(at)})` }}>{score(reference.reward)}</dd>
            </div>
          )}
          {reference.gap !== null && (
            <div title={`the sample's reward minus the reference's: ${exact(reference.gap)}`}>
              <dt>Gap</dt>
              <dd style={gap ? { color: `var(--advantage-ink-${gap > 0 ? "pos" : "neg"})` } : undefined}>{signed(reference.gap)}</dd>
            </div>
          )}
        </dl>
      </header>
      <div class={turnsClass}>
        {reference.turns.map((turn, i) => (
          // The turns of a response never change their order: their place is their identity.
          // oxlint-disable-next-line react/no-array-index-key
          <Turn key={i} turn={turn} at={`${OF_REFERENCE}${i}`} number={null} />
        ))}
        {reference.turns.length === 0 && <p class="quiet">The record holds its reward, and no text.</p>}
      </div>
    </section>
  );
}
