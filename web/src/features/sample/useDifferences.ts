/** Compares the response of a sample with its reference while both are on the page, and has the words marked that differ. */

import { useEffect, useMemo, useState } from "preact/hooks";
import type { SampleReply } from "../../api/types.gen";
import { charsOf, type Marked, marksOf, MOST_CHARS, sideOf } from "../../lib/differing";
import { count } from "../../lib/numbers";
import { differing, OF_REFERENCE } from "../../state/differing";
import { render } from "../../state/render";
import { compare } from "../../ui/differ";
import { responseAt } from "./responseAt";

/** What came of it: null while it goes on, or where nobody wants it. */
export function useDifferences(reply: SampleReply): Marked | { refused: string } | null {
  const { run, id, turns, turn_total: total, reference } = reply;
  const isWanted = render.value.differences && reference !== null && reference.turns.length > 0;
  const [held, hold] = useState<{ of: unknown; found: Marked | { refused: string } } | null>(null);
  const sides = useMemo(() => {
    const from = responseAt(turns);
    return { response: sideOf(turns.slice(from), "", from), reference: sideOf(reference?.turns ?? [], OF_REFERENCE) };
  }, [turns, reference]);

  useEffect(() => {
    if (!isWanted) return undefined;
    const end = (found: Marked | { refused: string }): void => {
      hold({ of: sides, found });
      if ("spans" in found) differing.value = { run, id, spans: found.spans };
    };
    const chars = charsOf(sides.response) + charsOf(sides.reference);
    if (turns.length < total) end({ refused: "the sample has more turns than are here" });
    else if (chars > MOST_CHARS) end({ refused: `the two have ${count(chars, "character")}, which is too long` });
    else {
      const stop = compare(sides.response.told, sides.reference.told, (found) => end(marksOf(found, sides.response, sides.reference)));
      return () => {
        stop();
        differing.value = null;
      };
    }
    return undefined;
  }, [isWanted, sides, turns, total, run, id]);

  return isWanted && held?.of === sides ? held.found : null;
}
