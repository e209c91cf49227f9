/** Which series colours the tokens, and on which scale. */

import { useSession } from "../../../state/useSession";
import type { Series, TokenSample } from "../../../lib/tokens/sample/tokenSample";
import type { EndsKind, ScaleKind } from "../../../lib/tokens/scale";
import { harmless } from "../../../lib/text/invisible";
import type { TokensAs } from "../../../lib/address/tokensAddress";
import { Segments } from "../../../ui/controls/Segments";
import { NARROW, useMatch } from "../../../ui/hooks/useMatch";
import { UpdateControls } from "../update/UpdateControls";
import { RowMenu } from "../table/RowMenu";
import { BesideField } from "../pair/BesideField";
import { Masks } from "./Masks";
import { Legend } from "./Legend";
import { NumberField } from "./NumberField";
import style from "./Controls.module.css";

const ORIGINS: readonly { origin: Series["origin"]; words: string }[] = [
  { origin: "recorded", words: "Recorded" },
  { origin: "derived", words: "Computed" },
  { origin: "difference", words: "Recorded minus computed" },
];
const FORMS: readonly { value: TokensAs; label: string; title: string }[] = [
  { value: "text", label: "Text", title: "Tokens as flowing text" },
  { value: "table", label: "Table", title: "A column for each token, a row for each series" },
  { value: "update", label: "Update", title: "What the step of training does to each token" },
];
const KINDS: readonly { value: ScaleKind; words: string }[] = [
  { value: "linear", words: "Linear" },
  { value: "symmetric", words: "Around zero" },
  { value: "log", words: "Log" },
];
const ENDS: readonly { value: EndsKind; words: string }[] = [
  { value: "clip", words: "1–99 %" },
  { value: "all", words: "All values" },
  { value: "fixed", words: "Fixed" },
];

export function Controls({ tokens }: { tokens: TokenSample }) {
  const { place } = useSession();
  const form = place.field.tokensAs.value;
  const isNarrow = useMatch(NARROW);
  const fields = (
    <div class={style["groups"]}>
      {form === "update" ? (
        <UpdateControls tokens={tokens} />
      ) : (
        <>
          <Colours tokens={tokens} />
          <Masks />
          <div class={style["group"]}>{form === "text" ? <BesideField /> : <RowMenu tokens={tokens} />}</div>
        </>
      )}
    </div>
  );
  return (
    <div class={style["controls"]}>
      {isNarrow ? (
        <details class={style["fold"]}>
          <summary>{form === "update" ? "Rules and weights" : "Colours and masks"}</summary>
          {fields}
        </details>
      ) : (
        fields
      )}
      <Segments
        label="Form"
        options={tokens.updates.length > 0 || form === "update" ? FORMS : FORMS.slice(0, -1)}
        value={form}
        choose={(tokensAs) => place.go({ tokensAs })}
      />
    </div>
  );
}

function Colours({ tokens }: { tokens: TokenSample }) {
  const { tokenLook: look } = useSession();
  const series = look.series.value;
  return (
    <div class={style["group"]} role="group" aria-label="Colours">
      {series === null ? (
        <p class="quiet">No series: the record holds no number for each token.</p>
      ) : (
        <>
          <SeriesField tokens={tokens} series={series} />
          <ScaleFields />
          <Legend tokens={tokens} />
          <p class={style["about"]} title={harmless(series.about)}>
            {harmless(series.about)}
          </p>
        </>
      )}
    </div>
  );
}

function SeriesField({ tokens, series }: { tokens: TokenSample; series: Series }) {
  const { tokenLook: look } = useSession();
  return (
    <label>
      Colour{" "}
      <select class="field" value={series.name} onChange={(event) => look.chooseSeries(event.currentTarget.value)}>
        {ORIGINS.map(({ origin, words }) => {
          const some = tokens.series.filter((one) => one.origin === origin);
          return (
            some.length > 0 && (
              <optgroup key={origin} label={words}>
                {some.map(({ name, title, about }) => (
                  <option key={name} value={name} title={harmless(about)}>
                    {harmless(title || name)}
                  </option>
                ))}
              </optgroup>
            )
          );
        })}
      </select>
    </label>
  );
}

function ScaleFields() {
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
        <select class="field" value={choice.ends} onChange={(event) => chooseEnds(event.currentTarget.value)}>
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
