/** What the colours and marks of the update mean, with the number of tokens that have each. */

import type { TokenUpdate } from "../../../api/tokens";
import { figure } from "../../../lib/numbers/numbers";
import type { TokenSample } from "../../../lib/tokens/sample/tokenSample";
import { rampOf } from "../../../lib/tokens/scale";
import { useSession } from "../../../state/useSession";
import { effectsOf } from "./updatePaint";
import style from "./Update.module.css";

export function UpdateLegend({ tokens }: { tokens: TokenSample }) {
  const { tokenUpdate: update } = useSession();
  const [first, scale, second] = [update.first.value, update.scale.value, update.now.value[1] ?? null];
  if (first === null || scale === null) return null;
  const [untrained = 0, up = 0, down = 0, unmoved = 0, out = 0, unknown = 0] = effectsOf(first, tokens);
  return (
    <ul class={style["legend"]} aria-label="What the colours mean">
      <li>
        <span>
          pushed down <b>{figure(down)}</b>
        </span>
        {scale.low < scale.high && (
          <span class={style["ramp"]} title="The factor of the gradient of the token's logprob">
            {figure(scale.low)}
            <i style={{ backgroundImage: rampOf(scale) }} />
            {figure(scale.high)}
          </span>
        )}
        <span>
          pushed up <b>{figure(up)}</b>
        </span>
      </li>
      <Item mark="out" words="masked or clipped" many={out} />
      <Item mark="unmoved" words="advantage 0" many={unmoved} />
      <Item mark="untrained" words="not trained" many={untrained} />
      {unknown > 0 && <Item mark="unknown" words="unknown: a number is missing" many={unknown} />}
      {second !== null && (
        <Item mark="differs" words="the second rule differs" many={differences(first, second, tokens)} />
      )}
    </ul>
  );
}

interface Mark {
  mark: "out" | "unmoved" | "untrained" | "unknown" | "differs";
  words: string;
  many: number;
}

function Item({ mark, words, many }: Mark) {
  return (
    <li>
      <i class={`${style["sign"]} ${style[mark]}`} /> {words} <b>{figure(many)}</b>
    </li>
  );
}

function differences(one: TokenUpdate, other: TokenUpdate, { first, count }: TokenSample): number {
  let many = 0;
  for (let token = first; token < count; token += 1) if (one.effects[token] !== other.effects[token]) many += 1;
  return many;
}
