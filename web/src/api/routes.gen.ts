// Generated from src/rolloupe: `python -m rolloupe.wire.typescript`. Do not edit.

import { get } from "./client";
import type { FindingQuery, GradientQuery, LintQuery, PartQuery, RunFindings, RunGradient, RunLint, RunParts } from "./types.gen";

/** What a question leaves out, or leaves empty, has its default. */
export type Asked<T> = { [field in keyof T]?: NonNullable<T[field]> | string };

/** What the reward pays for: phrases and behaviours, those that matter most first. */
export const askFindings = (run: string, asked: Asked<FindingQuery> = {}): Promise<RunFindings> =>
  get(["runs", run, "findings"], asked);

/** Where the gradient of the trained samples came from. */
export const askGradient = (run: string, asked: Asked<GradientQuery> = {}): Promise<RunGradient> =>
  get(["runs", run, "gradient"], asked);

/** What each part of the reward pays for, as a formula. */
export const askParts = (run: string, asked: Asked<PartQuery> = {}): Promise<RunParts> =>
  get(["runs", run, "parts"], asked);

/** What is wrong with the samples, the certain rules first. */
export const askLint = (run: string, asked: Asked<LintQuery> = {}): Promise<RunLint> =>
  get(["runs", run, "lint"], asked);
