/** The samples that an answer about tokens does not cover. */

import type { TokenCoverage } from "../../api/types.gen";
import { count } from "../../lib/numbers/numbers";

export function Coverage({ of }: { of: TokenCoverage }) {
  const notes = [
    of.pending === 0 ? "" : `${count(of.pending, "sample")} not indexed yet.`,
    of.unread === 0 ? "" : `The tokens of ${count(of.unread, "sample")} could not be read.`,
  ].filter((note) => note !== "");
  return (
    <>
      {notes.map((note) => (
        <p key={note} class="quiet">
          {note}
        </p>
      ))}
    </>
  );
}
