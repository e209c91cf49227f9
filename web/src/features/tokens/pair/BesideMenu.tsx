/** Chooses the sample of the group that is shown beside this one. */

import { useState } from "preact/hooks";
import { getSamples, isAlone } from "../../../api";
import { score } from "../../../lib/numbers/numbers";
import { nameOfSample } from "../../../lib/sample/name";
import { harmless } from "../../../lib/text/invisible";
import { useSession } from "../../../state/useSession";
import { useLoaded } from "../../../ui/hooks/useLoaded";
import { Icon } from "../../../ui/controls/Icon";
import { Popover } from "../../../ui/overlay/Popover";
import style from "../controls/Controls.module.css";

/** The list has the other samples of a larger group. */
const MOST = 200;

export function BesideMenu() {
  const { place, sample } = useSession();
  const beside = place.field.beside.value;
  if (isAlone() || (sample.now.value?.group_ids.length ?? 0) < 2) return null;
  return (
    <Popover
      label="Second sample"
      title="Another sample of the group, from the first token that differs"
      buttonClass="action"
      button={
        <>
          <Icon sign="columns" size={16} />
          <span class={style["word"]}>{beside === null ? "Beside" : `Beside ${harmless(nameOfSample(beside))}`}</span>
        </>
      }
    >
      {(close) => (
        <div class={style["menu"]}>
          <BesideField close={close} />
        </div>
      )}
    </Popover>
  );
}

function BesideField({ close }: { close: () => void }) {
  const { place, sample } = useSession();
  const [isAsked, ask] = useState(false);
  const reply = sample.now.value;
  const beside = place.field.beside.value;
  const { run = "", split = "", step = 0, group = "", group_ids: ids = [], id = "" } = reply ?? {};
  // Rewards are requested when the reader is about to choose.
  const key = isAsked || beside !== null ? JSON.stringify([run, split, step, group]) : null;
  const { value } = useLoaded(key, () =>
    getSamples(run, { split, step, group, sort: "index", descending: false, offset: 0, limit: MOST }),
  );
  return (
    <label>
      Beside{" "}
      <select
        class="field"
        value={beside ?? ""}
        onFocus={() => ask(true)}
        onChange={({ currentTarget: { value: chosen } }) => {
          place.go({ beside: chosen || null });
          close();
        }}
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
