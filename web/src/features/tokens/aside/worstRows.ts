/** The rows of the worst tokens of the sample, and the place of a token in another sample. */

import type { ShownToken } from "../../../api/types.gen";
import { type Place, scopeOf } from "../../../lib/address/address";
import type { Series, TokenSample } from "../../../lib/tokens/sample/tokenSample";
import { worst } from "../../../lib/tokens/worst";
import { MOST_WORST } from "../../../state/tokens/worst";

export const worstOfSample = (
  tokens: TokenSample,
  series: Series,
  range: { from: number; stop: number } | null,
): readonly number[] => worst(series, tokens.trained, MOST_WORST, range ?? undefined);

/** The place of a token of any sample, coloured by the series of its value. */
export const worstPlace = ({ id, token }: ShownToken, series: string): Partial<Place> => ({
  ...scopeOf(id),
  page: "rollouts",
  discarded: false,
  sample: id,
  view: "tokens",
  colour: series,
  tokensAs: "text",
  token,
});
