/** The splits of the run: side by side if there are few, otherwise in a menu. */

import { useSession } from "../../state/useSession";
import { count } from "../../lib/numbers/numbers";
import { nameOfSplit } from "../../lib/address/splits";
import { harmless } from "../../lib/text/invisible";
import { Segments } from "../../ui/controls/Segments";
import { ROOMY, useMatch } from "../../ui/hooks/useMatch";
import style from "./Splits.module.css";

const FEW = 3;
const SHORT_CHARS = 40;
/** Longer names would push the curve of the reward over the state of the run. */
const SHORT_CHARS_IF_NARROW = 20;

/** `inList`: the copy in the list of samples, if the bar has no room. */
export function Splits({ inList = false }: { inList?: boolean }) {
  const session = useSession();
  const most = useMatch(ROOMY) ? SHORT_CHARS : SHORT_CHARS_IF_NARROW;
  const reports = session.place.field.page.value === "report" ? session.run.reportsAlone.value : [];
  const split = session.place.field.split.value;
  const choose = (name: string): void => {
    const steps = reports.find((one) => one.split === name)?.steps;
    const { step } = session.place.now.value;
    const nearest = steps?.findLast((other) => step === null || other <= step) ?? steps?.[0];
    session.place.go(nearest === undefined ? { split: name } : { split: name, step: nearest });
  };
  const options = [
    ...session.run.splitChoices.value.map(({ name, steps, samples }) => ({
      value: name,
      label: nameOfSplit(name),
      title: `${count(steps, "step")}, ${count(samples, "sample")}`,
    })),
    ...reports.map(({ split: name, steps }) => ({
      value: name,
      label: name,
      title: `${count(steps.length, "report")}, no samples`,
    })),
  ];
  if (options.length < 2 || split === null) return null;
  const isShort = options.length <= FEW && options.reduce((sum, { value }) => sum + value.length, 0) <= most;
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
