/** Two conflicting changes, one made here and one elsewhere, and the choice between them. */

import { nameOf } from "../../lib/charts/chart";
import { chartsIn } from "../../lib/charts/layout";
import { isRecord } from "../../lib/data/record";
import { isRunMark, isSampleMark, valueOf, type MarkValue, type Subject } from "../../lib/marks";
import { conflict, resolve } from "../../state/marks";
import { Dialog } from "../../ui/overlay/Dialog";
import { announce } from "../../ui/overlay/announce";
import { wordOf } from "../judging";
import style from "./Conflict.module.css";

/** Closing the card keeps the other change, which is stored already. */
function keepTheirs(): void {
  if (conflict.peek() !== null) announce("The other change was kept");
  void resolve("theirs");
}

export function Conflict() {
  const both = conflict.value;
  return (
    <Dialog label="Changed in two places" isOpen={both !== null} close={keepTheirs}>
      {both !== null && (
        <div class={style["body"]}>
          <h2>{changed(both.subject)}</h2>
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

function changed({ kind, name }: Subject): string {
  if (kind === "run") return "This run was changed in two places";
  return kind === "layout" ? "The charts of this run were changed in two places" : `${name} was marked in two places`;
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
  const charts = isRecord(value) ? chartsIn(value) : null;
  if (charts !== null) return [["Charts", charts.map(nameOf).join("\n")]];
  const result: [string, string][] = [];
  if (isSampleMark(value))
    result.push(["Bookmark", value.bookmarked ? "yes" : "no"], ["Judgement", wordOf(value.judgement)]);
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
