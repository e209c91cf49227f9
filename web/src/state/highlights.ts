/**
 * Places in the sample on the screen that are marked: the hits of a search, and what is found within the sample.
 *
 * A place is `{ at, start, stop }`, as the server names it (`Span` in server/wire/texts.py). `at` is a part of the sample: `12.3` is part
 * 3 of turn 12, counted from 0 over all turns of the sample; `ref0.1` one of the reference response; `label` the golden
 * answer. `start` and `stop` are places in the text of that part as it is shown (`PartView.text`, and of a call of a tool
 * `CallView.arguments`), counted in units of UTF-16 as JavaScript counts. Spans of one part are in ascending order.
 *
 * A search sets `searched`, and `goTo` shows a place: it goes to the page of turns, unfolds what is folded, and scrolls.
 * A part that has a marked place is shown verbatim meanwhile, whatever the Render menu says.
 */

import { computed, signal } from "@preact/signals";
import type { Span } from "../api/types.gen";
import { goTurns, page, sample } from "./sample";

/** The hits of a search in one sample, set by whoever searches; they show while that sample is on the screen. */
export const searched = signal<{ run: string; sample: string; spans: readonly Span[] } | null>(null);

/** What is found within the sample by our own find. */
export const finding = signal<{ spans: readonly Span[] } | null>(null);

/** The place that is gone to. A new object is a new wish, also for the same place. */
export const target = signal<{ span: Span } | null>(null);

export type Mark = "search" | "find";

const NONE: readonly Span[] = [];

function byPart(spans: readonly Span[]): Map<string, Span[]> {
  const found = new Map<string, Span[]>();
  for (const span of spans) {
    const held = found.get(span.at);
    if (held === undefined) found.set(span.at, [span]);
    else held.push(span);
  }
  return found;
}

const searchedHere = computed(() => {
  const held = searched.value;
  const isHere = held !== null && sample.value?.id === held.sample && sample.value.run === held.run;
  return byPart(isHere ? held.spans : NONE);
});

const foundHere = computed(() => byPart(finding.value?.spans ?? NONE));

/** The marked places of a part. */
export function spansOf(at: string, mark: Mark): readonly Span[] {
  return (mark === "find" ? foundHere : searchedHere).value.get(at) ?? NONE;
}

/** Show a place, wherever in the sample it is. */
export async function goTo(span: Span): Promise<void> {
  const turn = turnOf(span.at);
  if (turn !== null && !isOnPage(turn)) await goTurns({ from: Math.max(0, turn - CONTEXT) });
  if (turn !== null && !isOnPage(turn)) await goTurns({ from: turn }); // what stands before it fills the page
  target.value = { span: { ...span } };
}

function isOnPage(turn: number): boolean {
  const here = page.peek();
  return here === null || (turn >= here.turn_from && turn < here.turn_from + here.turns.length);
}

/** Turns in front of a place that is gone to, so that it does not stand alone. */
const CONTEXT = 20;

/** Which turn a part is of; null for what is no part of a turn. */
export function turnOf(at: string): number | null {
  return /^\d+\./.test(at) ? Number.parseInt(at, 10) : null;
}
