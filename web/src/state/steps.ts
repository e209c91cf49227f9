/** The steps of the split that is looked at, with counts and mean rewards; kept up to date. */

import { computed, effect, signal, untracked } from "@preact/signals";
import { type ApiError, getSteps } from "../api";
import type { RunItem, StepsReply } from "../api/types.gen";
import { Lru } from "../lib/lru";
import { nearest } from "../lib/rows";
import { go, place } from "./place";
import { run } from "./runs";
import { asApiError } from "./session";
import { isVisible } from "./visible";

const AGAIN_MS = 50;
/** After a failure the same question waits: longer each time. */
const PAUSES_MS = [1000, 2000, 5000, 15_000, 30_000];

let failures = 0;
let waiting: ReturnType<typeof setTimeout> | undefined;

const kept = new Lru<StepsReply>(32);

const loaded = signal<StepsReply | null>(null);

/** The steps of this split; of none other, even while they are on their way. */
export const steps = computed<StepsReply | null>(() => {
  const { run: id, split } = place.value;
  return loaded.value?.run === id && loaded.value?.split === split ? loaded.value : null;
});
export const stepsError = signal<ApiError | null>(null);

/** Where the current step stands among them; -1 where it does not. */
export const stepIndex = computed(() => {
  const { step } = place.value;
  return step === null ? -1 : (steps.value?.steps.indexOf(step) ?? -1);
});

export const lastStep = computed(() => steps.value?.steps.at(-1) ?? null);

/** Go so many steps on, or to the nearest that there is. */
export function goBy(difference: number): void {
  const known = steps.peek()?.steps ?? [];
  const { step } = place.peek();
  if (known.length === 0 || step === null) return;
  const here = stepIndex.peek();
  const from = here >= 0 ? here : nearest(known, step);
  const to = known[Math.min(known.length - 1, Math.max(0, from + difference))];
  if (to !== undefined && to !== step) go({ step: to });
}

/** Go to the step that is nearest to a number. */
export function goNear(wanted: number, how: "push" | "replace" = "push"): void {
  const known = steps.peek()?.steps ?? [];
  const to = known[nearest(known, wanted)];
  if (to !== undefined && to !== place.peek().step) go({ step: to }, how);
}

export function forgetSteps(): void {
  kept.clear();
}

export function startSteps(): void {
  effect(() => {
    const item = run.value;
    const { split } = place.value;
    if (!isVisible.value) return;
    untracked(() => {
      if (waiting === undefined || steps.peek()?.run !== item?.id) void refresh(item, split);
    });
  });
}

async function refresh(item: RunItem | null, split: string | null): Promise<void> {
  if (item === null || split === null) return;
  const key = `${item.id}\n${split}`;
  const isLookedAt = (): boolean => place.peek().run === item.id && place.peek().split === split;
  if (steps.peek() === null) loaded.value = kept.peek(key) ?? null;
  if (steps.peek()?.version === item.version) return;
  try {
    const reply = await kept.renew(key, () => getSteps(item.id, split));
    if (!isLookedAt()) return;
    failures = 0;
    stepsError.value = null;
    loaded.value = reply;
    // Once more where the run was told to have changed meanwhile; a reply that is newer than the page knows is fine.
    if (run.peek()?.version !== item.version) setTimeout(again, AGAIN_MS);
  } catch (error) {
    if (!isLookedAt()) return;
    stepsError.value = asApiError(error);
    clearTimeout(waiting);
    waiting = setTimeout(again, PAUSES_MS[Math.min(failures, PAUSES_MS.length - 1)]);
    failures += 1;
  }
}

function again(): void {
  waiting = undefined;
  void refresh(run.peek(), place.peek().split);
}
