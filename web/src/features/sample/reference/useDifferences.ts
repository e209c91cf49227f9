/**
 * Compares the response of a sample with its reference, or with the answer of the step before, while the sample is on
 * the page, and marks the differing words.
 */

import { useSession } from "../../../state/useSession";
import { useEffect, useMemo, useState } from "preact/hooks";
import type { SampleReply, TurnView } from "../../../api/types.gen";
import { charsOf, type Marked, marksOf, MOST_CHARS, sideOf } from "../../../lib/diff/sampleDiff";
import { count } from "../../../lib/numbers/numbers";
import { OF_REFERENCE } from "../../../state/sample/differences";
import { render } from "../../../state/browser/textOptions";
import { compare } from "../../../ui/text/differ";
import { useLoaded } from "../../../ui/hooks/useLoaded";
import { responseAt } from "../transcript/responseAt";

/** The prefix of the names of the parts of the answer before, which is not on the page. */
const OF_BEFORE = "before";

/**
 * The turns of the answer of the step before, if the sample was reached along the steps of its prompt; undefined until
 * they are known, null without such an answer.
 */
function useBefore({ run, id }: SampleReply): readonly TurnView[] | null | undefined {
  const session = useSession();
  const isHere = session.place.field.sample.value === id;
  const before = isHere ? session.prompt.before.value : null;
  const key = before === null || !render.value.differences ? null : `${run}\n${before.id}`;
  const loaded = useLoaded(key, async () => session.sample.reply(run, before?.id ?? "")).value;
  const turns = useMemo(() => loaded?.turns.slice(responseAt(loaded.turns)), [loaded]);
  const isLeft = !isHere && session.prompt.isAlong.value;
  return key === null && !isLeft ? null : turns;
}

/** The result for the reference: null during the comparison, and without a request. */
export function useDifferences(reply: SampleReply): Marked | { refused: string } | null {
  const session = useSession();
  const { run, id, turns, turn_total: total, reference } = reply;
  const before = useBefore(reply);
  const other = before === null ? reference?.turns : before;
  const isWanted = render.value.differences && other !== undefined && other.length > 0;
  const [latest, setLatest] = useState<{ of: unknown; result: Marked | { refused: string } } | null>(null);
  const sides = useMemo(() => {
    const from = responseAt(turns);
    const prefix = before === null ? OF_REFERENCE : OF_BEFORE;
    return { response: sideOf(turns.slice(from), "", from), reference: sideOf(other ?? [], prefix) };
  }, [turns, other, before]);

  useEffect(() => {
    session.differences.refused.value = "";
    if (!isWanted) return undefined;
    const end = (result: Marked | { refused: string }): void => {
      setLatest({ of: sides, result });
      if ("spans" in result) session.differences.now.value = { run, id, spans: result.spans };
      session.differences.refused.value = "refused" in result ? `Not compared: ${result.refused}` : "";
    };
    const chars = charsOf(sides.response) + charsOf(sides.reference);
    if (turns.length < total) end({ refused: "the sample has more turns than are loaded" });
    else if (chars > MOST_CHARS) end({ refused: `they have ${count(chars, "character")}, which is too long` });
    else {
      const stop = compare(sides.response.pieces, sides.reference.pieces, (result) =>
        end(marksOf(result, sides.response, sides.reference)),
      );
      return () => {
        stop();
        session.differences.now.value = null;
      };
    }
    return undefined;
  }, [session, isWanted, sides, turns, total, run, id]);

  return isWanted && before === null && latest?.of === sides ? latest.result : null;
}
