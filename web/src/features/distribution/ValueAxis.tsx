/** The labelled values at the left of bars. */

import type { Values } from "../../lib/distribution/distribution";
import { score } from "../../lib/numbers/numbers";
import { roundTicks } from "../../lib/numbers/ticks";
import style from "./Distribution.module.css";

interface Props {
  range: Values;
  /** True for numbers of samples: only whole numbers get a label. */
  areWhole?: boolean;
}

export function ValueAxis({ range: { low, high }, areWhole = false }: Props) {
  const ticks = roundTicks(low, high).filter((tick) => tick >= low && tick <= high);
  return (
    <div class={style["values"]} aria-hidden="true">
      {ticks
        .filter((tick) => !areWhole || Number.isInteger(tick))
        .map((tick) => (
          <span key={tick} style={{ bottom: `${(100 * (tick - low)) / (high - low)}%` }}>
            {areWhole ? String(tick) : score(tick)}
          </span>
        ))}
    </div>
  );
}
