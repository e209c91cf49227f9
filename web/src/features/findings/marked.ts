/** What to mark in a sample, so that a finding is seen. */

import type { Finding, SampleReply, TurnView } from "../../api/types.gen";
import { NO_SEARCH, type Search } from "../../lib/address/address";
import { anyOf, copiedSentences, repeatedSentences } from "../../lib/sample/repeats";

const textOf = (turns: readonly TurnView[], origin: string): string =>
  turns
    .filter((turn) => turn.origin === origin)
    .flatMap(({ parts }) => parts.map(({ text }) => text))
    .join("\n");

/** The search that marks it; without a text, nothing can be marked. */
export function markedBy({ behaviour, pattern }: Finding, { turns }: Pick<SampleReply, "turns">): Search {
  const response = textOf(turns, "response");
  const text =
    behaviour === "derived.repeated_sentences"
      ? anyOf(repeatedSentences(response))
      : behaviour === "derived.copied_sentences"
        ? anyOf(copiedSentences(textOf(turns, "prompt"), response))
        : pattern;
  return text === "" ? NO_SEARCH : { ...NO_SEARCH, text, regex: true, role: "response" };
}
