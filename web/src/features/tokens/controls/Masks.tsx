/** Up to two rules that mark tokens as taken out of the loss, with thresholds to move. */

import { useSession } from "../../../state/useSession";
import type { Mask } from "../../../state/tokens/masks";
import { agreement } from "../../../lib/tokens/masks";
import { figure } from "../../../lib/numbers/numbers";
import { harmless } from "../../../lib/text/invisible";
import { percent } from "../../../lib/numbers/percent";
import { Threshold } from "./Threshold";
import { Agreement } from "./Agreement";
import { ofRun } from "./ofRun";
import style from "./Controls.module.css";

export function Masks() {
  const { tokenMasks: masks } = useSession();
  if (masks.all.value.length === 0) return null;
  const [first, second] = masks.chosen.value;
  return (
    <div class={style["group"]} role="group" aria-label="Masks">
      <div class={style["group"]}>
        <RuleField place={0} label="Mask" mask={first} />
        {first !== undefined && <Outcome mask={first} mark="first" />}
      </div>
      {first !== undefined && (
        <div class={style["group"]}>
          <RuleField place={1} label="and" mask={second} />
          {second !== undefined && <Outcome mask={second} mark="second" />}
          {second !== undefined && (
            <span class={style["outcome"]}>
              <Agreement share={agreement(first.flags, second.flags)} />
            </span>
          )}
        </div>
      )}
    </div>
  );
}

function RuleField({ place, label, mask }: { place: number; label: string; mask: Mask | undefined }) {
  const { tokenMasks: masks } = useSession();
  const other = masks.chosen.value[1 - place];
  return (
    <>
      <label>
        {label}{" "}
        <select
          class="field"
          value={mask?.name ?? ""}
          onChange={(event) => masks.choose(place, event.currentTarget.value)}
        >
          <option value="">{place === 0 ? "None" : "no other"}</option>
          {masks.all.value
            .filter((one) => one !== other)
            .map(({ name, title, rule, isMoved }) => (
              <option key={name} value={name}>
                {harmless(title)}
                {rule?.is_of_run === true ? ofRun(isMoved) : ""}
              </option>
            ))}
        </select>
      </label>
      {mask?.thresholds.map((one) => (
        <Threshold key={one.name} rule={mask.title} {...one} choose={(next) => masks.move(mask, one.name, next)} />
      ))}
      {mask !== undefined && mask.isMoved && (
        <button
          type="button"
          class="action"
          title="Thresholds of the run or the paper"
          onClick={() => masks.reset(mask)}
        >
          Reset
        </button>
      )}
    </>
  );
}

function Outcome({ mask, mark }: { mask: Mask; mark: "first" | "second" }) {
  const { tokenMasks: masks } = useSession();
  const trained = masks.trained.value;
  const recorded = masks.withRecorded(mask);
  return (
    <span class={style["outcome"]}>
      <i class={style[mark]} />
      {figure(mask.count)} of {figure(trained)} · {percent(mask.count / trained)}
      {recorded !== null && (
        <>
          {" · "}
          <Agreement share={recorded} of="with the recorded flags" />
        </>
      )}
    </span>
  );
}
