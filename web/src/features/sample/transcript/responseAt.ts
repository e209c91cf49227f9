/** Where a sample goes over from its prompt to its response. */

import type { TurnView } from "../../../api/types.gen";

/** The number of the first turn of the response; of a sample that is all prompt, the number of its turns. */
export function responseAt(turns: readonly TurnView[]): number {
  const at = turns.findIndex(({ origin }) => origin === "response");
  return at < 0 ? turns.length : at;
}
