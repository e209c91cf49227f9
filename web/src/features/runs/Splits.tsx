/** The splits of the run: side by side if there are few, otherwise in a menu. */

import { useSession } from "../../state/useSession";
import { count } from "../../lib/numbers/numbers";
import { nameOfSplit } from "../../lib/address/splits";
import { harmless } from "../../lib/text/invisible";
import { Segments } from "../../ui/controls/Segments";
import style from "./Splits.module.css";

const FEW = 3;
const SHORT_CHARS = 40;

/** `inList`: the copy in the list of samples, if the bar has no room. */
export function Splits({ inList = false }: { inList?: boolean }) {
  const session = useSession();
  const splits = session.run.splitChoices.value;
  const split = session.place.field.split.value;
  if (splits.length < 2 || split === null) return null;
  const choose = (name: string): void => session.place.go({ split: name });
  const options = splits.map(({ name, steps, samples }) => ({
    value: name,
    label: nameOfSplit(name),
    title: `${count(steps, "step")}, ${count(samples, "sample")}`,
  }));
  const isShort = splits.length <= FEW && splits.reduce((sum, { name }) => sum + name.length, 0) <= SHORT_CHARS;
  if (isShort && !inList) {
    return (
      <div class={style["bar"]}>
        <Segments label="Split" options={options} value={split} choose={choose} />
      </div>
    );
  }
  return (
    <div class={inList ? style["inList"] : style["bar"]}>
      <select
        class={`field ${style["select"]}`}
        aria-label="Split"
        value={split}
        onChange={(event) => choose(event.currentTarget.value)}
      >
        {options.map(({ value, label, title }) => (
          <option key={value} value={value} title={title}>
            {harmless(label)}
          </option>
        ))}
      </select>
    </div>
  );
}
