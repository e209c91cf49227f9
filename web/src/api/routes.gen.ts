// Generated from src/rolloupe: `python -m tools.typescript`. Do not edit.

import { get } from "./client";
import type { Agreement, AgreementQuery, AnswerQuery, Brief, BriefQuery, CellAnswers, ColumnQuery, Completion, CompletionQuery, DiscardQuery, EvalQuery, FindingQuery, GradientQuery, GridQuery, JudgingQuery, JudgingQueue, LandmarkQuery, Landmarks, LintQuery, MetricNameQuery, MetricNames, PartQuery, PromptGrid, PromptLife, PromptQuery, PromptSampleQuery, PromptSamples, RunColumns, RunDiscards, RunEvals, RunFindings, RunGradient, RunLint, RunParts, RunTokenChanges, RunTokenMasks, RunTokenPositions, RunTokenSeries, RunTokenSteps, RunTokenWords, RunWorstTokens, StepValueQuery, StepValues, TokenChangeQuery, TokenMaskQuery, TokenPositionQuery, TokenSeriesQuery, TokenStepQuery, TokenWordQuery, WorstTokenQuery } from "./types.gen";

/** What a question leaves out, or leaves empty, has its default. */
export type Asked<T> = { [field in keyof T]: Exclude<T[field], null> | string };

/** What is worth saying of a run in three sentences, each with the place that shows it. */
export const askBrief = (run: string, asked: Asked<BriefQuery> = {}): Promise<Brief> =>
  get(["runs", run, "brief"], asked);

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

/** How many samples were discarded, by step and reason. */
export const askDiscards = (run: string, asked: Asked<DiscardQuery>): Promise<RunDiscards> =>
  get(["runs", run, "discards"], asked);

/** Where a run saved a checkpoint or was resumed, by step. */
export const askLandmarks = (run: string, asked: Asked<LandmarkQuery> = {}): Promise<Landmarks> =>
  get(["runs", run, "landmarks"], asked);

/** The names of the trainer's metrics. */
export const askMetrics = (run: string, asked: Asked<MetricNameQuery> = {}): Promise<MetricNames> =>
  get(["runs", run, "metrics"], asked);

/** The columns to show, sort and filter samples by. */
export const askColumns = (run: string, asked: Asked<ColumnQuery>): Promise<RunColumns> =>
  get(["runs", run, "columns"], asked);

/** How an unfinished filter may go on. */
export const askComplete = (run: string, asked: Asked<CompletionQuery>): Promise<Completion> =>
  get(["runs", run, "complete"], asked);

/** Which samples to judge next. */
export const askJudgingQueue = (run: string, asked: Asked<JudgingQuery>): Promise<JudgingQueue> =>
  get(["runs", run, "judging-queue"], asked);

/** Whether the reward agrees with the judgements of a person. */
export const askAgreement = (run: string, asked: Asked<AgreementQuery> = {}): Promise<Agreement> =>
  get(["runs", run, "agreement"], asked);

/** Every evaluation by step. */
export const askEvals = (run: string, asked: Asked<EvalQuery> = {}): Promise<RunEvals> =>
  get(["runs", run, "evals"], asked);

/** The prompts of a split by its steps, a page of them. */
export const askGrid = (run: string, asked: Asked<GridQuery>): Promise<PromptGrid> =>
  get(["runs", run, "grid"], asked);

/** The answers to a prompt at a step, graded. */
export const askEvalsAnswers = (run: string, asked: Asked<AnswerQuery>): Promise<CellAnswers> =>
  get(["runs", run, "evals", "answers"], asked);

/** The samples of a prompt at a step. */
export const askPromptSamples = (run: string, asked: Asked<PromptSampleQuery>): Promise<PromptSamples> =>
  get(["runs", run, "prompt-samples"], asked);

/** How the answers to one prompt changed: the steps where it appears, with its best and its worst sample. */
export const askPrompt = (run: string, asked: Asked<PromptQuery> = {}): Promise<PromptLife> =>
  get(["runs", run, "prompt"], asked);

/** Sample metrics at one step, with histograms and the values of its samples. */
export const askStepValues = (run: string, asked: Asked<StepValueQuery>): Promise<StepValues> =>
  get(["runs", run, "step-values"], asked);

/** The token series that samples of a run have. */
export const askTokenSeries = (run: string, asked: Asked<TokenSeriesQuery> = {}): Promise<RunTokenSeries> =>
  get(["runs", run, "token-series"], asked);

/** A token series at each step that has values. */
export const askTokenSteps = (run: string, asked: Asked<TokenStepQuery>): Promise<RunTokenSteps> =>
  get(["runs", run, "token-steps"], asked);

/** The mean of a token series by position at one step. */
export const askTokenPositions = (run: string, asked: Asked<TokenPositionQuery>): Promise<RunTokenPositions> =>
  get(["runs", run, "token-positions"], asked);

/** What each rule takes out of the loss, by step. */
export const askTokenMasks = (run: string, asked: Asked<TokenMaskQuery> = {}): Promise<RunTokenMasks> =>
  get(["runs", run, "token-masks"], asked);

/** Words with most KL, or the most frequent. */
export const askTokenWords = (run: string, asked: Asked<TokenWordQuery> = {}): Promise<RunTokenWords> =>
  get(["runs", run, "token-words"], asked);

/** Words that gain and lose most between two steps. */
export const askTokenChanges = (run: string, asked: Asked<TokenChangeQuery>): Promise<RunTokenChanges> =>
  get(["runs", run, "token-changes"], asked);

/** The tokens with the most extreme values of a series. */
export const askWorstTokens = (run: string, asked: Asked<WorstTokenQuery>): Promise<RunWorstTokens> =>
  get(["runs", run, "worst-tokens"], asked);
