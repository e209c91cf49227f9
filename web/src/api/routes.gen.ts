// Generated from src/rolloupe: `python -m rolloupe.wire.typescript`. Do not edit.

import { get } from "./client";
import type { FindingQuery, GradientQuery, LintQuery, PartQuery, RunFindings, RunGradient, RunLint, RunParts } from "./types.gen";

/** What a question leaves out, or leaves empty, has its default. */
export type Asked<T> = { [field in keyof T]?: string | number | boolean };

/** Look for what the reward pays for. */
export const askFindings = (run: string, asked: Asked<FindingQuery> = {}): Promise<RunFindings> =>
  get(["runs", run, "findings"], asked);

/** Add up what the trained samples of a window pull. */
export const askGradient = (run: string, asked: Asked<GradientQuery> = {}): Promise<RunGradient> =>
  get(["runs", run, "gradient"], asked);

/** Fit every part of the reward in a window. */
export const askParts = (run: string, asked: Asked<PartQuery> = {}): Promise<RunParts> =>
  get(["runs", run, "parts"], asked);

/** Check the samples of a run. */
export const askLint = (run: string, asked: Asked<LintQuery> = {}): Promise<RunLint> =>
  get(["runs", run, "lint"], asked);
