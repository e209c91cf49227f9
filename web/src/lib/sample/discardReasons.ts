/** What was not trained on, added up: by reason over the run and at one step, and by step for a chart. */

import type { DiscardsReply, StepsReply } from "../../api/types.gen";

export interface Reason {
  reason: string;
  /** Samples over the run, and at the step that is looked at. */
  samples: number;
  here: number;
  /** Of `samples`: cancelled or failed, without an answer. */
  unfinished: number;
  groups: number;
}

export interface Sums {
  reasons: Reason[];
  /** Everything that was generated, over the run and at the step. */
  generated: number;
  generatedHere: number;
}

/** True where the reason for which a sample was discarded is how it ended: one word says both. */
export const isReason = (status: string, discarded: string): boolean =>
  discarded !== "" && status.toLowerCase() === discarded.toLowerCase();

/** The reasons, the most frequent first. */
export function summed(reply: DiscardsReply, steps: StepsReply, step: number | null): Sums {
  const result = new Map<string, Reason>();
  reply.reasons.forEach((reason, i) => {
    const one = result.get(reason) ?? { reason, samples: 0, here: 0, unfinished: 0, groups: 0 };
    one.samples += reply.samples[i] ?? 0;
    one.unfinished += reply.unfinished[i] ?? 0;
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
  /** The steps that it stands for, first and last. */
  first: number;
  last: number;
  /** The share of what was generated that each reason took, in the order asked for. */
  shares: number[];
}

/** Bars of shares over the steps of a run, at most so many: each then stands for several steps. */
export function bars(reply: DiscardsReply, steps: StepsReply, reasons: readonly string[], most: number): Bar[] {
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

/** A share as a person reads it: `12 %`, and never 0 or 100 for what is neither none nor all. */
export function percent(part: number, whole: number): string {
  if (whole === 0 || part === 0) return "0 %";
  const value = (100 * part) / whole;
  if (value < 0.1) return "< 0.1 %";
  if (part < whole && value > 99.9) return "> 99.9 %";
  return `${value < 10 ? value.toFixed(1) : value.toFixed(0)} %`;
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);
