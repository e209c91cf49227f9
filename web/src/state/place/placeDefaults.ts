/**
 * The page's choices for an incomplete address: the first split, the newest step, the first sample of the list. On the
 * newest step of a run that was opened without a step, it is the sample that the person saw there last, else the one
 * that differs most from its siblings.
 */

import type { Session } from "../session";
import { untracked } from "@preact/signals";
import { hasStep, type Page } from "../../lib/address/address";
import { rememberSample } from "../browser/lastSamples";
import { isSearching, opensOn, placeOf, runOf, runs } from "../runs";

/** Pages that need a step. */
const needsStep = (page: Page): boolean => hasStep(page) || page === "search";

export function startComplete(session: Session): void {
  /** The step that the page chose, until a sample of it is open. */
  let opened: number | null = null;
  session.effect(() => {
    const { run } = session.place.now.value;
    const alike = runOf(run) === undefined ? (runs.value ?? []).filter(({ name }) => name === run) : [];
    const [only] = alike; // the server of a team has longer ids, and knows a run by its name, too
    if (only !== undefined && alike.length === 1) untracked(() => session.place.go({ run: only.id }, "replace"));
  });
  // The start page may lead to a run. After a reload, and on the way back, the list stays.
  const [opening] = performance.getEntriesByType("navigation") as PerformanceNavigationTiming[];
  let isStart = opening?.type === "navigate" && location.pathname === new URL(document.baseURI).pathname;
  session.effect(() => {
    const { page, ask } = session.place.now.value;
    const run = opensOn.value;
    if (!isStart || runs.value === null) return;
    isStart = false;
    if (run !== "" && page === "runs" && Object.keys(ask).length === 0)
      untracked(() => session.place.go({ page: "rollouts", run }, "replace"));
  });
  // Whether a run has metrics alone is known once its files are read.
  let unread = "";
  session.effect(() => {
    const all = runs.value;
    const only = all?.[0];
    const { page, run, view } = session.place.now.value;
    if (all?.length !== 1 || only === undefined || isSearching.value) return;
    if (page === "runs" || (page === "rollouts" && run === unread && only.has_metrics_alone)) {
      unread = only.progress.phase === "ready" ? "" : only.id;
      const named = view === "transcript" ? {} : { view }; // by the command line
      untracked(() => session.place.go({ ...placeOf(only), ...named }, "replace"));
    } else if (page !== "rollouts") unread = "";
  });
  session.effect(() => {
    const { page, split, step } = session.place.now.value;
    const first = session.run.splitChoices.value[0];
    if (needsStep(page) && split === null && first !== undefined)
      untracked(() => session.place.go({ split: first.name, step }, "replace"));
  });
  session.effect(() => {
    const { page, split, step, discarded } = session.place.now.value;
    if (!needsStep(page) || split === null || step !== null || (discarded && session.steps.reply.value === null))
      return;
    const newest =
      (discarded ? session.steps.lastDiscarded.value : null) ??
      session.steps.last.value ??
      session.run.split.value?.last_step ??
      null;
    if (newest === null) return;
    opened = newest;
    untracked(() => session.place.go({ step: newest }, "replace"));
  });
  session.effect(() => {
    const { page, run, split, sample, discarded } = session.place.now.value;
    const list = session.list.now.value;
    if (page !== "rollouts" || sample !== null || session.list.isBehind.value) return;
    if (list === null || list.scope.run !== run) return; // a run without samples has no list of its own
    if (list.scope.split !== split || list.scope.discarded !== discarded) return;
    const isOpened = opened !== null && opened === list.scope.step;
    opened = null;
    untracked(() => (isOpened ? session.browse.goOpening(list) : session.browse.goFirst(list)));
  });
  session.effect(() => {
    const { page, run, sample } = session.place.now.value;
    if (page === "rollouts" && run !== null && sample !== null) rememberSample(run, sample);
  });
  // A sample that was in the list does not switch it: it may have been discarded since.
  let current = "";
  session.effect(() => {
    if (session.list.position.value !== null) current = session.place.now.value.sample ?? "";
  });
  session.effect(() => {
    // A sample that the list cannot contain, as from a bookmark or a search, switches the list to the kind of that
    // sample. Side by side, a group may contain both.
    const { page, view, discarded } = session.place.now.value;
    const reply = session.sample.now.value;
    if (
      page !== "rollouts" ||
      view === "group" ||
      !session.sample.isShown.value ||
      session.list.isBehind.value ||
      reply === null ||
      session.list.position.value !== null
    )
      return;
    if (reply.id === current) return;
    const isGone = reply.discarded !== "";
    if (isGone !== discarded) untracked(() => session.place.go({ discarded: isGone, sample: reply.id }, "replace"));
  });
}
