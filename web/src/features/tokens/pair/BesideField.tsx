/** Which sample of the group is beside this one. */

import { useState } from "preact/hooks";
import { getSamples, isAlone } from "../../../api";
import { score } from "../../../lib/numbers/numbers";
import { nameOfSample } from "../../../lib/sample/name";
import { harmless } from "../../../lib/text/invisible";
import { useSession } from "../../../state/useSession";
import { useLoaded } from "../../../ui/hooks/useLoaded";
import style from "../controls/Controls.module.css";

/** A larger group has its other samples in the list. */
const MOST = 200;

export function BesideField() {
  const { place, sample } = useSession();
  const [isAsked, ask] = useState(false);
  const reply = sample.now.value;
  const beside = place.field.beside.value;
  const { run = "", split = "", step = 0, group = "", group_ids: ids = [], id = "" } = reply ?? {};
  // Rewards are asked for when somebody is about to choose.
  const key = isAsked || beside !== null ? JSON.stringify([run, split, step, group]) : null;
  const { value } = useLoaded(key, () =>
    getSamples(run, { split, step, group, sort: "index", descending: false, offset: 0, limit: MOST }),
  );
  if (isAlone() || ids.length < 2) return null;
  return (
    <label class={style["beside"]}>
      Beside{" "}
      <select
        class="field"
        value={beside ?? ""}
        title="Another sample of the group, from the first token that differs"
        onFocus={() => ask(true)}
        onChange={({ currentTarget: { value: chosen } }) => place.go({ beside: chosen || null })}
      >
        <option value="">no other</option>
        {beside !== null && !ids.includes(beside) && <option value={beside}>{harmless(nameOfSample(beside))}</option>}
        {ids.map((other) => {
          const item = value?.samples.find((one) => one.id === other);
          return (
            other !== id && (
              <option key={other} value={other}>
                {harmless(nameOfSample(other))}
                {item !== undefined && ` · reward ${score(item.reward, "none")}`}
              </option>
            )
          );
        })}
      </select>
    </label>
  );
}
