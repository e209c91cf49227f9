/** Landmarks of a run: checkpoints and resumes at the foot of its charts, alarms above; close ones are one mark. */

import type { AlarmItem, Landmarks } from "../../../api/types.gen";
import { keyOfCurve } from "../../../lib/charts/catalogue";
import { count, figure } from "../../../lib/numbers/numbers";
import { nearest } from "../../../lib/numbers/nearest";
import type { Curve, Frame } from "../../charts";

type Kind = "saved" | "resumed" | "hint" | "error";

export interface Landmark {
  step: number;
  kind: Kind;
  words: string;
  alarm: AlarmItem | null;
}

/** Landmarks at one place of a chart. */
export interface Spot {
  /** From the left of the chart. */
  px: number;
  kind: Kind;
  /** A line for each landmark, or for many of a kind. */
  lines: readonly string[];
  /** The landmark that a press opens. */
  main: Landmark;
}

/** Closer landmarks share a mark: fingers and eyes cannot tell them apart. */
const APART_PX = 24;
export const MOST_SPOTS = 36;
/** More lines hide the chart. */
const MOST_LINES = 3;

/** The most important kind comes first. */
const RANKS: readonly Kind[] = ["error", "hint", "resumed", "saved"];
const MANY: Readonly<Partial<Record<Kind, string>>> = { saved: "checkpoint", resumed: "resume" };

/** All landmarks of a run, ascending by step. */
export function landmarksOf(found: Landmarks | null, alarms: readonly AlarmItem[]): Landmark[] {
  const saved = found?.saved ?? [];
  const resumed = found?.resumed ?? [];
  return [
    ...saved.map(({ step, name }) => landmark(step, "saved", `Checkpoint ${name}, step ${figure(step)}`)),
    ...resumed.map(({ step, launch, again }) =>
      landmark(
        step,
        "resumed",
        `Resumed at step ${figure(step)}, launch ${figure(launch)}${
          again === 0 ? "" : `: ${count(again, "step")} recorded again`
        }`,
      ),
    ),
    ...alarms.map((alarm) => ({
      ...landmark(alarm.first_step, alarm.severity === "error" ? "error" : "hint", wordsOfAlarm(alarm)),
      alarm,
    })),
  ].toSorted((one, other) => one.step - other.step);
}

/** The landmarks of a chart with these curves: an alarm marks only its curves, all others belong to the whole run. */
export const landmarksIn = (landmarks: readonly Landmark[], keys: ReadonlySet<string>): readonly Landmark[] =>
  landmarks.filter(({ alarm }) => alarm === null || alarm.curves.some((one) => keys.has(keyOfCurve(one))));

const landmark = (step: number, kind: Kind, words: string): Landmark => ({ step, kind, words, alarm: null });

const wordsOfAlarm = ({ title, first_step: first, last_step: last }: AlarmItem): string =>
  `${title} · ${stepsOf(first, last)}`;

const stepsOf = (first: number, last: number): string =>
  first === last ? `step ${figure(first)}` : `steps ${figure(first)} to ${figure(last)}`;

/** The places of landmarks on a drawn chart, from left to right, without landmarks beyond its range. */
export const spotsOf = (landmarks: readonly Landmark[], curve: Pick<Curve, "steps" | "x">, frame: Frame): Spot[] =>
  [true, false]
    .flatMap((isAbove) =>
      inRow(
        landmarks.filter(({ alarm }) => (alarm !== null) === isAbove),
        curve,
        frame,
      ),
    )
    .toSorted((a, b) => a.px - b.px);

/** The marks above a chart, or at its foot. */
function inRow(landmarks: readonly Landmark[], curve: Pick<Curve, "steps" | "x">, frame: Frame): Spot[] {
  const apart = Math.max(APART_PX, frame.width / MOST_SPOTS);
  const spots: { px: number; all: Landmark[] }[] = [];
  const placed = landmarks
    .flatMap((one) => {
      const px = placeOf(one.step, curve, frame);
      return px === null ? [] : [{ px, one }];
    })
    .toSorted((a, b) => a.px - b.px);
  for (const { px, one } of placed) {
    const last = spots.at(-1);
    if (last !== undefined && px - last.px < apart) last.all.push(one);
    else spots.push({ px, all: [one] });
  }
  return spots.flatMap(({ px, all }) => {
    const [main] = RANKS.flatMap((kind) => all.filter((one) => one.kind === kind));
    return main === undefined ? [] : [{ px, kind: main.kind, lines: linesOf(all), main }];
  });
}

/** The place of a step; the last step has the checkpoint after it. */
function placeOf(step: number, { steps, x }: Pick<Curve, "steps" | "x">, frame: Frame): number | null {
  const [first, last] = [steps[0], steps.at(-1)];
  if (first === undefined || last === undefined || step < first - 1 || step > last + 1) return null;
  const at = x === undefined ? Math.max(first, Math.min(last, step)) : (x[nearest(steps, step)] ?? NaN);
  const share = (at - frame.low) / (frame.high - frame.low);
  return share >= 0 && share <= 1 ? frame.left + share * frame.width : null;
}

/** The landmarks of a place in words, the most important first. */
function linesOf(all: readonly Landmark[]): string[] {
  const lines = RANKS.flatMap((kind) => {
    const own = all.filter((one) => one.kind === kind);
    const [first, last] = [own[0], own.at(-1)];
    const noun = MANY[kind];
    if (noun === undefined || own.length < 2 || first === undefined || last === undefined)
      return own.map(({ words }) => words);
    return [`${count(own.length, noun)}, ${stepsOf(first.step, last.step)}`];
  });
  const left = lines.length - MOST_LINES;
  return left > 0 ? [...lines.slice(0, MOST_LINES), `and ${figure(left)} more`] : lines;
}
