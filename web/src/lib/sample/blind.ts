/** A sample without anything that tells how it was graded: for a person who checks the reward. */

import type { SampleReply, TurnView } from "../../api/types.gen";

/** A turn without what graded it, and without the words of errors, which come from logs. */
export const ungradedTurn = (turn: TurnView): TurnView => ({
  ...turn,
  reward: null,
  metrics: {},
  logs: {},
  facts: {},
  parts: turn.parts.map((part) => (part.result === null ? part : { ...part, result: { ...part.result, error: "" } })),
});

export function ungraded(reply: SampleReply): SampleReply {
  return {
    ...reply,
    reward: null,
    advantage: null,
    discarded: "",
    facts: [],
    notes: [],
    extra: {},
    reference: reply.reference && { ...reply.reference, reward: null, gap: null },
  };
}
