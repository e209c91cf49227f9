/** Two changes of one thing at once: what was changed here, what there, and which to keep. */

import type { RunMarkView, SampleMarkView } from "../../api/types.gen";
import { saidBy, type Said } from "../../lib/marks";
import { conflict, resolve } from "../../state/marks";
import { Dialog } from "../../ui/Dialog";
import { say } from "../../ui/said";
import style from "./Conflict.module.css";

/** To close the card is to keep the other, which is there already. */
function keepTheirs(): void {
  if (conflict.peek() !== null) say("The other change was kept");
  void resolve("theirs");
}

export function Conflict() {
  const both = conflict.value;
  return (
    <Dialog label="Changed in two places" isOpen={both !== null} close={keepTheirs}>
      {both !== null && (
        <div class={style["body"]}>
          <h2>{both.subject.kind === "run" ? "This run was changed in two places" : `${both.subject.name} was marked in two places`}</h2>
          <p>Another tab, or another viewer, was first. Which one is to stay?</p>
          <div class={style["two"]}>
            <section aria-label="Here">
              <h3>Here</h3>
              <Words said={both.mine} />
              <button type="button" class="button" onClick={() => void resolve("mine")}>Keep what I wrote</button>
            </section>
            <section aria-label="There">
              <h3>There</h3>
              <Words said={saidBy(both.theirs)} />
              <button type="button" class="button" onClick={keepTheirs}>Keep the other</button>
            </section>
          </div>
        </div>
      )}
    </Dialog>
  );
}

function Words({ said }: { said: Said }) {
  return (
    <dl class={style["words"]}>
      {entries(said).map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function entries(said: Said): [string, string][] {
  if (said === null) return [["Removed", ""]];
  const found: [string, string][] = [];
  if ("bookmarked" in said) found.push(["Bookmark", (said as SampleMarkView).bookmarked ? "yes" : "no"]);
  if ("colour" in said && "hidden" in said) {
    const { name, colour, hidden } = said as RunMarkView;
    found.push(["Name", name || "its own"], ["Colour", colour === 0 ? "by itself" : String(colour)], ["Hidden", hidden ? "yes" : "no"]);
  }
  if (typeof said.note === "string" && said.note !== "") found.push(["Note", said.note]);
  return found;
}
