/** The kind and the ends of the scale, and the definition of the series. */

import { useSession } from "../../../state/useSession";
import type { EndsKind, ScaleKind } from "../../../lib/tokens/scale";
import { harmless } from "../../../lib/text/invisible";
import type { TokenSample } from "../../../lib/tokens/sample/tokenSample";
import { Icon } from "../../../ui/controls/Icon";
import { Popover } from "../../../ui/overlay/Popover";
import { clipWords } from "./clip";
import { NumberField } from "./NumberField";
import style from "./Controls.module.css";

const KINDS: readonly { value: ScaleKind; words: string; short: string }[] = [
  { value: "linear", words: "Linear", short: "linear" },
  { value: "symmetric", words: "Around zero", short: "around 0" },
  { value: "log", words: "Log", short: "log" },
];
const ENDS: readonly { value: EndsKind; words: string; short: string }[] = [
  { value: "out", words: "What stands out", short: "" },
  { value: "clip", words: "1–99%", short: ", 1–99%" },
  { value: "all", words: "All values", short: ", all" },
  { value: "fixed", words: "Fixed", short: ", fixed" },
];

export function ScaleMenu({ tokens }: { tokens: TokenSample }) {
  const { tokenLook: look } = useSession();
  const [series, choice, scale] = [look.series.value, look.scaleChoice.value, look.scale.value];
  if (series === null || choice === null || scale === null) return null;
  const kind = KINDS.find(({ value }) => value === choice.kind)?.short ?? "";
  const ends = ENDS.find(({ value }) => value === choice.ends)?.short ?? "";
  return (
    <Popover
      label="Scale:"
      title={`The scale of the tints: ${kind}${ends}`}
      buttonClass="action"
      button={
        <>
          <span class={style["word"]}>{kind + ends}</span>
          <Icon sign="down" size={14} />
        </>
      }
    >
      {() => (
        <div class={style["menu"]}>
          <Fields />
          <p>{clipWords(tokens.ordered(series), scale)}</p>
          <p class="quiet">{harmless(`${series.title}: ${series.about}`)}</p>
        </div>
      )}
    </Popover>
  );
}

function Fields() {
  const { tokenLook: look } = useSession();
  const [choice, scale] = [look.scaleChoice.value, look.scale.value];
  if (choice === null || scale === null) return null;
  const chooseEnds = (value: string): void => {
    const ends = ENDS.find((one) => one.value === value)?.value ?? "all";
    look.changeScale(ends === "fixed" ? { ends, low: scale.low, high: scale.high } : { ends });
  };
  return (
    <>
      <label>
        Scale{" "}
        <select
          class="field"
          value={choice.kind}
          onChange={({ currentTarget: { value } }) =>
            look.changeScale({ kind: KINDS.find((one) => one.value === value)?.value ?? "linear" })
          }
        >
          {KINDS.map(({ value, words }) => (
            <option key={value} value={value}>
              {words}
            </option>
          ))}
        </select>
      </label>
      <label>
        Range{" "}
        <select
          title="What stands out: the worst quarter of the values has a tint"
          class="field"
          value={choice.ends}
          onChange={(event) => chooseEnds(event.currentTarget.value)}
        >
          {ENDS.map(({ value, words }) => (
            <option key={value} value={value}>
              {words}
            </option>
          ))}
        </select>
      </label>
      {choice.ends === "fixed" && (
        <span class={style["ends"]}>
          <NumberField label="Low end" value={choice.low} choose={(low) => look.changeScale({ low })} />
          {" to "}
          <NumberField label="High end" value={choice.high} choose={(high) => look.changeScale({ high })} />
        </span>
      )}
    </>
  );
}
