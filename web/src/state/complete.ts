/** What an address leaves open, the page chooses: the first split, the newest step, the first sample of the list. */

import { computed, effect, untracked } from "@preact/signals";
import type { Page } from "../lib/address";
import { goFirst, isBehind, listing, position } from "./list";
import { go, place } from "./place";
import { run, runs, split as splitOf, splitChoices } from "./runs";
import { isShown, sample as read } from "./sample";
import { lastStep, steps } from "./steps";

/** The newest step at which something was not trained on. */
const lastDiscarded = computed(() => steps.value?.steps.findLast((_, at) => (steps.value?.discarded[at] ?? 0) > 0) ?? null);

/** Pages that are of a step. */
const hasStep = (page: Page): boolean => page === "rollouts" || page === "report" || page === "search";

export function startComplete(): void {
  effect(() => {
    const known = runs.value;
    const only = known?.[0];
    if (place.value.page === "runs" && known?.length === 1 && only !== undefined) {
      untracked(() => go({ page: "rollouts", run: only.id }, "replace"));
    }
  });
  effect(() => {
    const { page, split, step } = place.value;
    const splits = splitChoices.value;
    const first = splits[0];
    if (!hasStep(page) || first === undefined || splits.some((one) => one.name === split)) return;
    if (split === null || run.value?.progress.phase === "ready") untracked(() => go(split === null ? { split: first.name, step } : { split: first.name }, "replace"));
  });
  effect(() => {
    const { page, split, step, discarded } = place.value;
    if (!hasStep(page) || split === null || step !== null || (discarded && steps.value === null)) return;
    const newest = (discarded ? lastDiscarded.value : null) ?? lastStep.value ?? splitOf.value?.last_step ?? null;
    if (newest !== null) untracked(() => go({ step: newest }, "replace"));
  });
  effect(() => {
    const { page, sample } = place.value;
    const list = listing.value;
    if (page !== "rollouts" || sample !== null || isBehind.value || list === null) return;
    untracked(() => goFirst(list));
  });
  // What was in the list stays where it is read: it may have been discarded since.
  let held = "";
  effect(() => {
    if (position.value !== null) held = place.value.sample ?? "";
  });
  effect(() => {
    // A sample that the list cannot hold, as from a bookmark or a search, is read among those that it is one of. Side by
    // side a group may hold both.
    const { page, view, discarded } = place.value;
    const reply = read.value;
    if (page !== "rollouts" || view === "group" || !isShown.value || isBehind.value || reply === null || position.value !== null) return;
    if (reply.id === held) return;
    const isGone = reply.discarded !== "";
    if (isGone !== discarded) untracked(() => go({ discarded: isGone, sample: reply.id }, "replace"));
  });
}
