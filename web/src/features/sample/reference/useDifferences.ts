/** Compares the response of a sample with its reference while both are on the page, and marks the differing words. */

import { useSession } from "../../../state/useSession";
import { useEffect, useMemo, useState } from "preact/hooks";
import type { SampleReply } from "../../../api/types.gen";
import { charsOf, type Marked, marksOf, MOST_CHARS, sideOf } from "../../../lib/diff/sampleDiff";
import { count } from "../../../lib/numbers/numbers";
import { OF_REFERENCE } from "../../../state/sample/differences";
import { render } from "../../../state/browser/textOptions";
import { compare } from "../../../ui/text/differ";
import { responseAt } from "../transcript/responseAt";

/** The result: null during the comparison, and without a request. */
export function useDifferences(reply: SampleReply): Marked | { refused: string } | null {
  const session = useSession();
  const { run, id, turns, turn_total: total, reference } = reply;
  const isWanted = render.value.differences && reference !== null && reference.turns.length > 0;
  const [latest, setLatest] = useState<{ of: unknown; result: Marked | { refused: string } } | null>(null);
  const sides = useMemo(() => {
    const from = responseAt(turns);
    return { response: sideOf(turns.slice(from), "", from), reference: sideOf(reference?.turns ?? [], OF_REFERENCE) };
  }, [turns, reference]);

  useEffect(() => {
    if (!isWanted) return undefined;
    const end = (result: Marked | { refused: string }): void => {
      setLatest({ of: sides, result });
      if ("spans" in result) session.differences.now.value = { run, id, spans: result.spans };
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

  return isWanted && latest?.of === sides ? latest.result : null;
}
