/** Fetching ahead: the samples beside this one, then the steps beside this one, while nothing else is wanted. */

import { effect, untracked } from "@preact/signals";
import { idAt, idOfRow } from "../lib/listing";
import { isBehind, listing, listOf, position, scopeAt } from "./list";
import { place } from "./place";
import { isShown, prefetch, sample } from "./sample";
import { stepIndex, steps } from "./steps";
import { isVisible } from "./visible";

const BESIDE = [1, -1, 2];
/** Who holds a key down is there in a fifth of a second. */
const FURTHER = [3, 4, 5, 6];
/** Larger samples are fetched one ahead: each takes its time. */
const SMALL_CHARS = 200_000;

export function startPrefetch(): void {
  let round = 0;
  effect(() => {
    const at = place.value;
    if (!isShown.value || isBehind.value || !isVisible.value || at.page !== "rollouts") return;
    round += 1;
    const own = round;
    const tasks = [...untracked(samplesBeside), ...untracked(stepsBeside)];
    // After the frame that shows the sample.
    requestAnimationFrame(() => setTimeout(() => void inTurn(tasks, () => own === round)));
  });
}

type Task = () => Promise<unknown>;

async function inTurn(tasks: readonly Task[], isWanted: () => boolean): Promise<void> {
  for (const task of tasks) {
    if (!isWanted()) return;
    try {
      // oxlint-disable-next-line no-await-in-loop -- one at a time, so that what is asked for next does not wait
      await task();
    } catch {
      // What cannot be had ahead is asked for again, and its error shown, when somebody goes there.
      return;
    }
  }
}

function samplesBeside(): Task[] {
  const list = listing.peek();
  const here = position.peek();
  if (list === null || here === null) return [];
  const isSmall = (sample.peek()?.chars ?? Infinity) < SMALL_CHARS;
  const ids = [...BESIDE, ...(isSmall ? FURTHER : [])].flatMap((step) => idAt(list, here + step) ?? []);
  return ids.map((id) => () => prefetch(list.scope.run, id));
}

function stepsBeside(): Task[] {
  const here = stepIndex.peek();
  const known = steps.peek()?.steps ?? [];
  if (here < 0 || place.peek().extent !== "step") return [];
  return [known[here + 1], known[here - 1]].flatMap((step) => {
    const of = step === undefined ? null : scopeAt({ ...place.peek(), step });
    return of === null ? [] : [async () => firstOf(of)];
  });
}

async function firstOf(of: NonNullable<ReturnType<typeof scopeAt>>): Promise<void> {
  const list = await listOf(of);
  const first = idOfRow(list, 0);
  if (first !== undefined) await prefetch(of.run, first);
}
