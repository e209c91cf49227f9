/** The boundary between the prompt and the response of a sample. */

import type { TurnView } from "../../../api/types.gen";

/** The number of the first turn of the response; the number of turns if there is only a prompt. */
export function responseAt(turns: readonly TurnView[]): number {
  const at = turns.findIndex(({ origin }) => origin === "response");
  return at < 0 ? turns.length : at;
}
