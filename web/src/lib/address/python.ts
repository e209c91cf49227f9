/** The Python code for what the page shows. */

import { figure } from "../numbers/numbers";

/** Selects samples; an undefined field narrows nothing. */
export interface Selection {
  split?: string | undefined;
  step?: number | undefined;
  step_min?: number | undefined;
  step_max?: number | undefined;
  group?: string | undefined;
  /** Trained samples only, or discarded ones only. */
  trained?: boolean | undefined;
  where?: string | undefined;
  sort?: string | undefined;
  descending?: boolean | undefined;
}

/** The selection in words: `train · steps 3 to 9 · discarded · reward < 0.1`. */
export function inWords({ split, step, step_min: low, step_max: high, trained, where = "" }: Selection): string {
  const steps = step === undefined ? between(low, high) : `step ${figure(step)}`;
  return [split ?? "every split", steps, trained === false ? "discarded" : "", where]
    .filter((words) => words !== "")
    .join(" · ");
}

function between(low: number | undefined, high: number | undefined): string {
  if (low === undefined) return high === undefined ? "all steps" : `steps up to ${figure(high)}`;
  return high === undefined ? `steps from ${figure(low)} on` : `steps ${figure(low)} to ${figure(high)}`;
}

/** A text as a Python literal: JSON's escapes are Python's, and other characters stay as they are. */
export const literal = (text: string): string =>
  JSON.stringify(text).replaceAll(
    /[\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g,
    (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

export function samplesCall(
  path: string,
  { split, step, step_min: low, step_max: high, trained, where = "", sort = "index", descending = false }: Selection,
): string {
  const args = [
    split === undefined ? "" : `split=${literal(split)}`,
    step === undefined ? "" : `step=${step}`,
    low === undefined && high === undefined ? "" : `steps=(${low ?? "None"}, ${high ?? "None"})`,
    trained === undefined ? "" : `trained=${trained ? "True" : "False"}`,
    where === "" ? "" : `where=${literal(where)}`,
    sort === "index" ? "" : `sort=${literal(sort)}`,
    descending ? "descending=True" : "",
  ];
  return `${opened(path)}samples = run.samples(${args.filter((one) => one !== "").join(", ")})\n`;
}

export const sampleCall = (path: string, id: string): string => `${opened(path)}sample = run.sample(${literal(id)})\n`;

export const bookmarksCall = (path: string): string =>
  `${opened(path)}samples = [run.sample(one.id) for one in run.bookmarks() if one.is_there]\n`;

/** The pairs of a good and a bad sample of one group. */
export const pairsCall = (path: string, split: string): string =>
  `${opened(path)}pairs = list(run.preference_pairs(${literal(split)}))\n`;

const opened = (path: string): string => `import rolloupe\n\nrun = rolloupe.open(${literal(path)})\n`;
