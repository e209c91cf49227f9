/** The rows of the worst tokens: those of the sample, and the place of one in another sample. */

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

/** Where a token of any sample is, in the colours of the series whose worst it is one of. */
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
