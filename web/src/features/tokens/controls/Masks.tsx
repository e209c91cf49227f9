/** Up to two rules that mark tokens as taken out of the loss: their counts on the line, their thresholds below it. */

import { useSession } from "../../../state/useSession";
import type { Mask } from "../../../state/tokens/masks";
import { agreement } from "../../../lib/tokens/masks";
import { figure } from "../../../lib/numbers/numbers";
import { harmless } from "../../../lib/text/invisible";
import { percent } from "../../../lib/numbers/percent";
import { Icon } from "../../../ui/controls/Icon";
import { Popover } from "../../../ui/overlay/Popover";
import { Threshold } from "./Threshold";
import { Agreement } from "./Agreement";
import { ofRun } from "./ofRun";
import style from "./Controls.module.css";

const MARKS = ["first", "second"] as const;

export function Masks() {
  const { tokenMasks: masks } = useSession();
  if (masks.all.value.length === 0) return null;
  const [first, second] = masks.chosen.value;
  return (
    <Popover
      label="Masks:"
      title="Rules that mark the tokens they take out of the loss"
      buttonClass={`action ${style["rules"]}`}
      button={<Chosen />}
    >
      {() => (
        <div class={style["menu"]} role="group" aria-label="Masks">
          <RuleField place={0} label="Mask" mask={first} />
          {first !== undefined && <Outcome mask={first} mark="first" />}
          {first !== undefined && <RuleField place={1} label="and" mask={second} />}
          {second !== undefined && <Outcome mask={second} mark="second" />}
          {first !== undefined && second !== undefined && (
            <p class={style["outcome"]}>
              <Agreement share={agreement(first.flags, second.flags)} />
            </p>
          )}
        </div>
      )}
    </Popover>
  );
}

/** The chosen rules, and the share of the sample that each takes out. */
function Chosen() {
  const { tokenMasks: masks } = useSession();
  const [chosen, trained] = [masks.chosen.value, masks.trained.value];
  return (
    <>
      {chosen.length === 0 && "no mask"}
      {chosen.map((mask, place) => (
        <span key={mask.name} class={style["outcome"]}>
          <i class={style[MARKS[place] ?? "second"]} />
          <b>{harmless(mask.title)}</b> {percent(mask.count / trained)}
        </span>
      ))}
      <Icon sign="down" size={14} />
    </>
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

function Outcome({ mask, mark }: { mask: Mask; mark: (typeof MARKS)[number] }) {
  const { tokenMasks: masks } = useSession();
  const trained = masks.trained.value;
  const recorded = masks.withRecorded(mask);
  return (
    <p class={style["outcome"]}>
      <i class={style[mark]} />
      {figure(mask.count)} of {figure(trained)} · {percent(mask.count / trained)}
      {recorded !== null && (
        <>
          {" · "}
          <Agreement share={recorded} of="with the recorded flags" />
        </>
      )}
    </p>
  );
}
