/** Chooses the band around the curves of all charts or of one chart. */

import { useState } from "preact/hooks";
import { type Change, numberOf } from "../choice";
import { type Band, bandsOf, MOST_SCALE } from "./band";
import { TypedField } from "../../../ui/controls/TypedField";

const OTHER = "other";

interface Props {
  band: Band;
  isGrouped: boolean;
  set: Change;
}

export function BandSelect({ band, isGrouped, set }: Props) {
  const bands = bandsOf(isGrouped);
  const [isWriting, write] = useState(false);
  const isOther = isWriting || !bands.some(([text]) => text === band.text);
  return (
    <>
      <select
        class="field"
        aria-label="Band"
        value={isOther ? OTHER : band.text}
        onChange={({ currentTarget }) => {
          write(currentTarget.value === OTHER);
          if (currentTarget.value !== OTHER) set({ band: currentTarget.value });
        }}
      >
        {bands.map(([text, words]) => (
          <option key={text} value={text}>
            {words}
          </option>
        ))}
        <option value={OTHER}>± … std</option>
      </select>
      {isOther && (
        <TypedField
          class="field"
          inputMode="decimal"
          size={3}
          aria-label="Number of standard deviations on either side"
          value={band.between === "" ? String(band.scale) : "1"}
          take={(typed) => {
            const scale = numberOf(typed);
            if (scale !== null && scale > 0 && scale <= MOST_SCALE) set({ band: String(scale) });
          }}
        />
      )}
    </>
  );
}
