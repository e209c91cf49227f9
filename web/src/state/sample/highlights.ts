/**
 * Marked places in the sample on the screen: the hits of a search, and those of find.
 *
 * A place is `{ at, start, stop }`, as the server names it (`Span` in wire/samples.py). `at` is a part of the sample:
 * `12.3` is part 3 of turn 12, counted from 0 over all turns of the sample; `ref0.1` one of the reference response;
 * `label` the golden answer. `start` and `stop` are places in the text of that part as shown (`PartView.text`, and
 * `ToolCall.arguments` for a tool call), counted in units of UTF-16 as in JavaScript. Spans of one part are in
 * ascending order.
 *
 * A search sets `searched`. `goTo` shows a place: it goes to the page of turns, unfolds sections, and scrolls. A part
 * with a marked place is shown verbatim, whatever the Render menu says.
 */

import { computed, signal } from "@preact/signals";
import type { Span } from "../../api/types.gen";
import { Store } from "../store";

export type Mark = "search" | "find";

const NONE: readonly Span[] = [];

function byPart(spans: readonly Span[]): Map<string, Span[]> {
  const result = new Map<string, Span[]>();
  for (const span of spans) {
    const current = result.get(span.at);
    if (current === undefined) result.set(span.at, [span]);
    else current.push(span);
  }
  return result;
}

/** The number of turns before a place to go to, so that it has context. */
const CONTEXT = 20;

/** The turn of a part; null for an invalid name. */
export function turnOf(at: string): number | null {
  return /^\d+\./.test(at) ? Number.parseInt(at, 10) : null;
}

export class HighlightsStore extends Store {
  /** The hits of a search in one sample, set by the search; they show while that sample is on the screen. */
  readonly searched = signal<{ run: string; sample: string; spans: readonly Span[] } | null>(null);

  /** The matches of our own find within the sample. */
  readonly finding = signal<{ spans: readonly Span[] } | null>(null);

  /** The place to go to. A new object is a new request, even for the same place. */
  readonly target = signal<{ span: Span } | null>(null);

  readonly #searchedHere = computed(() => {
    const current = this.searched.value;
    const isHere =
      current !== null &&
      this.session.sample.now.value?.id === current.sample &&
      this.session.sample.now.value.run === current.run;
    return byPart(isHere ? current.spans : NONE);
  });

  readonly #foundHere = computed(() => byPart(this.finding.value?.spans ?? NONE));

  /** The marked places of a part. */
  spansOf(at: string, mark: Mark): readonly Span[] {
    return (mark === "find" ? this.#foundHere : this.#searchedHere).value.get(at) ?? NONE;
  }

  /** Whether a part has a marked place, or is the place to go to. */
  isMarked(at: string): boolean {
    const isHere = this.target.value?.span.at === at;
    return isHere || this.spansOf(at, "find").length > 0 || this.spansOf(at, "search").length > 0;
  }

  /** Show a place, anywhere in the sample. */
  async goTo(span: Span): Promise<void> {
    const turn = turnOf(span.at);
    if (turn !== null && !this.#isOnPage(turn))
      await this.session.sample.goTurns({ from: Math.max(0, turn - CONTEXT) });
    // the preceding turns fill the page
    if (turn !== null && !this.#isOnPage(turn)) await this.session.sample.goTurns({ from: turn });
    this.target.value = { span: { ...span } };
  }

  #isOnPage(turn: number): boolean {
    const here = this.session.sample.page.peek();
    return here === null || (turn >= here.turn_from && turn < here.turn_from + here.turns.length);
  }
}
