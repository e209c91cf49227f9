/**
 * The line above the tokens: the series that colours them, its scale, the rules that mark them, and the form of the
 * view.
 */

import { useSession } from "../../../state/useSession";
import type { Series, TokenSample } from "../../../lib/tokens/sample/tokenSample";
import { harmless } from "../../../lib/text/invisible";
import type { TokensAs } from "../../../lib/address/tokensAddress";
import { Segments } from "../../../ui/controls/Segments";
import { UpdateControls } from "../update/UpdateControls";
import { RowMenu } from "../table/RowMenu";
import { BesideMenu } from "../pair/BesideMenu";
import { Masks } from "./Masks";
import { Legend } from "./Legend";
import { ScaleMenu } from "./ScaleMenu";
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

export function Controls({ tokens }: { tokens: TokenSample }) {
  const { place } = useSession();
  const form = place.field.tokensAs.value;
  return (
    <div class={style["controls"]}>
      {form === "update" ? (
        <UpdateControls tokens={tokens} />
      ) : (
        <>
          <Colours tokens={tokens} />
          <Masks />
          {form === "text" ? <BesideMenu /> : <RowMenu tokens={tokens} />}
        </>
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
          <Legend tokens={tokens} />
          <ScaleMenu tokens={tokens} />
        </>
      )}
    </div>
  );
}

function SeriesField({ tokens, series }: { tokens: TokenSample; series: Series }) {
  const { tokenLook: look } = useSession();
  return (
    <label title={harmless(series.about)}>
      <span class={style["label"]}>Colour </span>
      <select
        class={`field ${style["series"]}`}
        value={series.name}
        onChange={(event) => look.chooseSeries(event.currentTarget.value)}
      >
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
