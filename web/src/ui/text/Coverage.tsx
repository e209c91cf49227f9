/** What an answer about the tokens of many samples lacks, and why. */

import type { TokenCoverageView } from "../../api/types.gen";
import { count } from "../../lib/numbers/numbers";
import { harmless } from "../../lib/text/invisible";

export function Coverage({ of }: { of: TokenCoverageView }) {
  const notes = [
    of.left_out === "" ? "" : `Left out: ${of.left_out}.`,
    of.pending === 0 ? "" : `${count(of.pending, "sample")} not indexed yet.`,
    of.unread === 0 ? "" : `The tokens of ${count(of.unread, "sample")} could not be read.`,
  ].filter((note) => note !== "");
  return (
    <>
      {notes.map((note) => (
        <p key={note} class="quiet">
          {harmless(note)}
        </p>
      ))}
    </>
  );
}
