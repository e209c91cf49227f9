/** The live side: events of the server, what is new since the list was loaded, and following the run. */

import { computed, effect, signal, untracked } from "@preact/signals";
import { listen } from "../api/events";
import { holds } from "../lib/listing";
import { confirm, isBehind, listing, listingError, reload } from "./list";
import { loadMarks, sendAgain } from "./marks";
import { go, place } from "./place";
import { isVisible } from "./visible";
import { loadRuns, run, told } from "./runs";
import { isLocked, isShut } from "./session";
import { lastStep, steps } from "./steps";
import { isSame, refreshSample, sampleError } from "./sample";

const RELOAD_MS = 400;

export const isFollowing = signal(false);
/** True after following ended because the reader went elsewhere. */
export const isPaused = signal(false);
/** Null before the first word of the server. */
export const isConnected = signal<boolean | null>(null);

/** The last step that the reader knows of: those after it are news. */
const seen = signal<{ scope: string; step: number } | null>(null);

const splitKey = computed(() => `${place.value.run}\n${place.value.split}`);

/** How many samples of the scope are not in the list yet. */
export const newSamples = computed(() => {
  const list = listing.value;
  const known = steps.value;
  if (list === null || known === null || isBehind.value || known.run !== list.scope.run || known.split !== list.scope.split) return 0;
  const held = list.scope.discarded ? known.discarded : known.samples;
  const there = known.steps.reduce((sum, step, i) => sum + (holds(list.scope, step) ? (held[i] ?? 0) : 0), 0);
  return Math.max(0, there - list.of);
});

/** The step of the list and its stamp, where that is another than the list's: its files may have been written again. */
const restamped = computed<string | null>(() => {
  const list = listing.value;
  const known = steps.value;
  if (list === null || known === null || isBehind.value || known.run !== list.scope.run || known.split !== list.scope.split) return null;
  if (list.scope.step === null || newSamples.value > 0) return null;
  const stamp = known.stamps[known.steps.indexOf(list.scope.step)] ?? 0; // of a step that there is not, as of its list
  return stamp === list.stamp ? null : `${list.key}\n${stamp}`;
});

/** Of what was restamped: that which was looked at, and is another than what is shown. */
const changed = signal("");

/** True where the samples of this step are others than those in the list: the files were written again, or shrank. */
export const isStale = computed(() => restamped.value !== null && restamped.value === changed.value);

/** How many steps came since the reader went to the newest one, or to this split. */
export const newSteps = computed(() => {
  const known = seen.value;
  if (known === null || known.scope !== splitKey.value) return 0;
  return steps.value?.steps.filter((step) => step > known.step).length ?? 0;
});

/** Show what is new: the newest step, with the list as it is now. */
export function goNewest(): void {
  const newest = lastStep.peek();
  if (newest === null) return;
  seen.value = { scope: splitKey.peek(), step: newest };
  if (place.peek().step !== newest) go({ step: newest });
}

/** Bring the list up to date, and the sample's place in it. */
export async function showNew(): Promise<void> {
  await reload();
  await refreshSample();
}

/** Follow the run from its newest step on, or stop. */
export function toggleFollowing(): void {
  const wasFollowing = isFollowing.peek();
  if (!wasFollowing) goNewest(); // before following, which a step that is not the newest would end
  isFollowing.value = !wasFollowing;
  isPaused.value = false;
}

export function startLive(): void {
  const again = listen({
    event({ kind, run: item }) {
      if (kind === "run" && item !== null) told(item);
      else if (kind === "runs") void Promise.all([loadRuns(), loadMarks()]);
      else if (kind === "state") void loadMarks();
    },
    connection(isUp) {
      const wasUp = isConnected.peek() === true;
      isConnected.value = isUp;
      if (isUp) isShut.value = isLocked.value = false; // another tab may have signed in
      // What happened before is not told: while the stream was down, or between the page's first question and its first word.
      if (isUp && !wasUp) void Promise.all([loadRuns(), loadMarks().then(sendAgain)]);
    },
    shut() {
      isShut.value = isConnected.peek() === false;
    },
  });
  effect(() => {
    if (isVisible.value && isConnected.peek() === false) again();
  });
  startSeen();
  startFollowing();
  startFilling();
  startConfirming();
  startMending();
}

/** What was learned of other steps gives this one another stamp, too: what is shown is looked at before anybody is told. */
export function startConfirming(): void {
  let isLooking = false;
  const look = async (): Promise<void> => {
    const what = restamped.peek();
    if (isLooking || what === null || what === changed.peek()) return;
    isLooking = true;
    const isKept = await isSame().catch(() => false);
    if (isKept) await confirm().catch(() => undefined);
    if (restamped.peek() === what) changed.value = what;
    isLooking = false;
    if (restamped.peek() !== what) setTimeout(() => void look(), RELOAD_MS);
  };
  effect(() => {
    if (restamped.value !== null) untracked(() => void look());
  });
}

function startSeen(): void {
  effect(() => {
    const scope = splitKey.value;
    const newest = lastStep.value;
    const { step } = place.value;
    untracked(() => {
      if (newest === null || steps.peek()?.split !== place.peek().split) return;
      if (seen.peek()?.scope !== scope || step === newest) seen.value = { scope, step: newest };
    });
  });
}

/** Following ends when the reader goes to another step, or to another sample of the newest one: who reads stays. */
export function startFollowing(): void {
  let newest: number | null = null;
  let read: { step: number | null; sample: string | null } = { step: null, sample: null };
  effect(() => {
    const last = lastStep.value;
    const { step, sample } = place.value;
    const before = read;
    read = { step, sample };
    if (!isFollowing.value) {
      newest = last;
      return;
    }
    untracked(() => {
      const isChosen = step === before.step && sample !== null && before.sample !== null && sample !== before.sample;
      if (last !== newest && !isChosen) {
        newest = last;
        if (last !== null && last !== step) go({ step: last }, "replace");
      } else if (isChosen || (step !== null && step !== last)) {
        isFollowing.value = false;
        isPaused.value = true;
      }
    });
  });
}

/** While following, and while the index is being made for the first time, the list fills by itself. */
function startFilling(): void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const ready = new Set<string>(); // runs whose index was whole once: what comes later waits to be asked for
  effect(() => {
    if (run.value?.progress.phase === "ready") ready.add(run.value.id);
    // An empty list has nothing that could move: it may have been asked for before the index had anything for it.
    const isFilling = isFollowing.value || listing.value?.of === 0 || (run.value !== null && !ready.has(run.value.id));
    if (!isFilling || (newSamples.value === 0 && !isStale.value) || timer !== undefined) return;
    timer = setTimeout(() => {
      timer = undefined;
      void showNew();
    }, isFollowing.peek() ? 0 : RELOAD_MS);
  });
}

/** What shows an error is asked for again once the run has changed or the server is back. */
function startMending(): void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  effect(() => {
    if (run.value?.version === undefined || isConnected.value !== true || timer !== undefined) return;
    timer = setTimeout(() => {
      timer = undefined;
      if (sampleError.peek() !== null) void refreshSample();
      if (listingError.peek() !== null) void reload();
    }, RELOAD_MS);
  });
}
