/** Two conflicting changes: the one made here, the other one, and the choice between them. */

import { isRunMark, isSampleMark, valueOf, type MarkValue } from "../../lib/marks";
import { conflict, resolve } from "../../state/marks";
import { Dialog } from "../../ui/overlay/Dialog";
import { announce } from "../../ui/overlay/announce";
import style from "./Conflict.module.css";

/** Closing the card keeps the other change, which is stored already. */
function keepTheirs(): void {
  if (conflict.peek() !== null) announce("Kept the other change");
  void resolve("theirs");
}

export function Conflict() {
  const both = conflict.value;
  return (
    <Dialog label="Changed in two places" isOpen={both !== null} close={keepTheirs}>
      {both !== null && (
        <div class={style["body"]}>
          <h2>
            {both.subject.kind === "run"
              ? "This run was changed in two places"
              : `${both.subject.name} was marked in two places`}
          </h2>
          <p>Another tab or viewer changed it first. Which version do you want to keep?</p>
          <div class={style["two"]}>
            <section aria-label="Here">
              <h3>Here</h3>
              <Words value={both.mine} />
              <button type="button" class="button" onClick={() => void resolve("mine")}>
                Keep mine
              </button>
            </section>
            <section aria-label="There">
              <h3>There</h3>
              <Words value={valueOf(both.theirs)} />
              <button type="button" class="button" onClick={keepTheirs}>
                Keep theirs
              </button>
            </section>
          </div>
        </div>
      )}
    </Dialog>
  );
}

function Words({ value }: { value: MarkValue }) {
  return (
    <dl class={style["words"]}>
      {entries(value).map(([name, text]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{text}</dd>
        </div>
      ))}
    </dl>
  );
}

function entries(value: MarkValue): [string, string][] {
  if (value === null) return [["Removed", ""]];
  const result: [string, string][] = [];
  if (isSampleMark(value)) result.push(["Bookmark", value.bookmarked ? "yes" : "no"]);
  if (isRunMark(value)) {
    const { name, colour, hidden } = value;
    result.push(
      ["Name", name || "original"],
      ["Colour", colour === 0 ? "automatic" : String(colour)],
      ["Hidden", hidden ? "yes" : "no"],
    );
  }
  if (typeof value.note === "string" && value.note !== "") result.push(["Note", value.note]);
  return result;
}
