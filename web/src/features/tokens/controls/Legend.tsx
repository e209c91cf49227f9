/** The tints of the scale, with the values at its ends; signs show that values lie beyond them. */

import { useSession } from "../../../state/useSession";
import { figure } from "../../../lib/numbers/numbers";
import { rampOf } from "../../../lib/tokens/scale";
import type { TokenSample } from "../../../lib/tokens/sample/tokenSample";
import { clips, clipWords } from "./clip";
import style from "./Controls.module.css";

export function Legend({ tokens }: { tokens: TokenSample }) {
  const { tokenLook: look } = useSession();
  const [series, scale] = [look.series.value, look.scale.value];
  if (series === null || scale === null) return null;
  const ordered = tokens.ordered(series);
  if (Number.isNaN(scale.low)) return <span class={style["legend"]}>{noTints(ordered)}</span>;
  if (scale.low === scale.high) return <span class={style["legend"]}>all {figure(scale.low)}</span>;
  const { below, above } = clips(ordered, scale);
  const [low, high] = [`${below ? "≤ " : ""}${figure(scale.low)}`, `${above ? "≥ " : ""}${figure(scale.high)}`];
  return (
    <span
      class={style["legend"]}
      role="img"
      aria-label={`Tints from ${low} to ${high}`}
      title={clipWords(ordered, scale)}
    >
      {low}
      <i style={{ backgroundImage: rampOf(scale) }} />
      {high}
    </span>
  );
}

const noTints = (ordered: Float64Array): string =>
  ordered.length === 0 ? "no values at trained tokens" : "no values above 0: choose another scale";
