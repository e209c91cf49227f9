/** Discarded samples in sums: by reason over the run and at one step, and by step for a chart. */

import type { RunDiscards, StepsReply } from "../../api/types.gen";

export interface Reason {
  reason: string;
  /** Samples over the run, and at the current step. */
  samples: number;
  here: number;
  /** Of `samples`, those that were cancelled or failed without an answer. */
  unfinished: number;
  /** Those with a reward of 0, and with a larger one. */
  atZero: number;
  aboveZero: number;
  groups: number;
}

export interface Sums {
  reasons: Reason[];
  /** All generated samples, over the run and at the step. */
  generated: number;
  generatedHere: number;
}

/** True if the reason for discarding a sample is the way it ended: one word says both. */
export const isReason = (status: string, discarded: string): boolean =>
  discarded !== "" && status.toLowerCase() === discarded.toLowerCase();

/** True if a group was discarded because its rewards are equal: they are all 0, or all larger, or all smaller. */
export const isOfEqualRewards = (reason: string): boolean => EQUAL.test(reason);

const EQUAL = /zero.?(?:adv|std|var)/i;

/** What the usual reasons mean. */
const MEANINGS: readonly (readonly [RegExp, string])[] = [
  [/^run.?ended$/i, "the run ended before a step used them"],
  [/^stale$|too.?old|off.?policy/i, "written by a policy too old to train on"],
  [EQUAL, "all rewards of the group are equal: nothing to learn"],
  [/^(?:aborted|cancelled|canceled)$/i, "the generation was ended from outside"],
  [/over.?long|too.?long/i, "too long"],
];

/** What a reason means in words; empty for one that is not known. */
export const meaningOf = (reason: string): string => MEANINGS.find(([known]) => known.test(reason))?.[1] ?? "";

/** The reasons, the most frequent first. */
export function summed(reply: RunDiscards, steps: StepsReply, step: number | null): Sums {
  const result = new Map<string, Reason>();
  reply.reasons.forEach((reason, i) => {
    const one = result.get(reason) ?? {
      reason,
      samples: 0,
      here: 0,
      unfinished: 0,
      atZero: 0,
      aboveZero: 0,
      groups: 0,
    };
    one.samples += reply.samples[i] ?? 0;
    one.unfinished += reply.unfinished[i] ?? 0;
    one.atZero += reply.at_zero[i] ?? 0;
    one.aboveZero += reply.above_zero[i] ?? 0;
    one.groups += reply.groups[i] ?? 0;
    if (reply.steps[i] === step) one.here += reply.samples[i] ?? 0;
    result.set(reason, one);
  });
  const at = step === null ? -1 : steps.steps.indexOf(step);
  return {
    reasons: [...result.values()].toSorted((a, b) => b.samples - a.samples || (a.reason < b.reason ? -1 : 1)),
    generated: sum(steps.samples) + sum(steps.discarded),
    generatedHere: (steps.samples[at] ?? 0) + (steps.discarded[at] ?? 0),
  };
}

export interface Bar {
  /** Its first and last step. */
  first: number;
  last: number;
  /** For each reason, in the requested order, its share of the generated samples. */
  shares: number[];
}

/** Bars of shares over the steps of a run, at most `most`: each may cover several steps. */
export function bars(reply: RunDiscards, steps: StepsReply, reasons: readonly string[], most: number): Bar[] {
  const count = Math.max(1, Math.min(most, steps.steps.length));
  const place = new Map(steps.steps.map((step, i) => [step, Math.floor((i * count) / steps.steps.length)]));
  const totals = Array.from({ length: count }, () => 0);
  const result: Bar[] = Array.from({ length: count }, () => ({ first: 0, last: 0, shares: reasons.map(() => 0) }));
  steps.steps.forEach((step, i) => {
    const at = place.get(step) ?? 0;
    const bar = result[at];
    if (bar === undefined) return;
    if ((totals[at] ?? 0) === 0) bar.first = step;
    bar.last = step;
    totals[at] = (totals[at] ?? 0) + (steps.samples[i] ?? 0) + (steps.discarded[i] ?? 0);
  });
  reply.steps.forEach((step, i) => {
    const at = place.get(step);
    const bar = at === undefined ? undefined : result[at];
    const of = reasons.indexOf(reply.reasons[i] ?? "");
    if (at === undefined || bar === undefined || of < 0) return;
    bar.shares[of] = (bar.shares[of] ?? 0) + (reply.samples[i] ?? 0) / Math.max(1, totals[at] ?? 0);
  });
  return steps.steps.length === 0 ? [] : result;
}

/** A share as people read it: `12%`, but 0 and 100 only for none and all. */
export function percent(part: number, whole: number): string {
  if (whole === 0 || part === 0) return "0%";
  const value = (100 * part) / whole;
  if (value < 0.1) return "< 0.1%";
  if (part < whole && value > 99.9) return "> 99.9%";
  return `${value < 10 ? value.toFixed(1) : value.toFixed(0)}%`;
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);
