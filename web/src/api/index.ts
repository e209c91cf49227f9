/** The routes of the server as functions. */

import { address, get, post } from "./client";
import type {
  AboutReply,
  CacheStats,
  ColumnsReply,
  CompleteReply,
  GroupsReply,
  LoginReply,
  ProblemsReply,
  RawReply,
  ReportReply,
  RunsReply,
  SampleReply,
  SamplesReply,
  StepsReply,
} from "./types.gen";

export { ApiError, onLocked } from "./client";

/** Which samples, in which order, and which page of them. With `around` the page that holds this sample. */
export interface SamplesQuery {
  split: string;
  step?: number | undefined;
  step_min?: number | undefined;
  step_max?: number | undefined;
  where?: string | undefined;
  group?: string | undefined;
  sort: string;
  descending: boolean;
  offset: number;
  limit: number;
  around?: string | undefined;
  column?: readonly string[] | undefined;
}

export const getRuns = (): Promise<RunsReply> => get(["runs"]);

export const getSteps = (run: string, split: string): Promise<StepsReply> => get(["runs", run, "steps"], { split });

/** Groups instead of samples: offset, limit and order are of groups. */
export const getGroups = (run: string, query: SamplesQuery): Promise<GroupsReply> => get(["runs", run, "groups"], { ...query });

export const getSamples = (run: string, query: SamplesQuery): Promise<SamplesReply> =>
  get(["runs", run, "samples"], { ...query });

/** The address of the samples of a list as CSV, all of them. */
export const samplesCsv = (run: string, query: Omit<SamplesQuery, "offset" | "limit">): string => address(["runs", run, "samples.csv"], { ...query });

export const getColumns = (run: string, split: string): Promise<ColumnsReply> => get(["runs", run, "columns"], { split });

/** What may replace the end of a filter that is being typed; `text` reaches to the cursor. */
export const getCompletion = (run: string, query: Partial<SamplesQuery>, text: string): Promise<CompleteReply> =>
  get(["runs", run, "complete"], { ...query, text });

export const getSample = (run: string, id: string): Promise<SampleReply> => get(["runs", run, "sample"], { id });

export const getRaw = (run: string, id: string, whole: boolean): Promise<RawReply> =>
  get(["runs", run, "sample", "raw"], { id, whole });

export const getProblems = (run: string, offset: number, limit: number): Promise<ProblemsReply> =>
  get(["runs", run, "problems"], { offset, limit });

export const getAbout = (run: string): Promise<AboutReply> => get(["runs", run, "about"]);

export const getReport = (run: string, split: string, step: number): Promise<ReportReply> =>
  get(["runs", run, "report"], { split, step });

/** The address of a record that could not be read, as a download. */
export const problemRaw = (run: string, file: string, start: number, stop: number): string =>
  address(["runs", run, "problems", "raw"], { file, start, stop });

export const getCacheStats = (): Promise<CacheStats> => get(["cache", "stats"]);

export const clearCache = (): Promise<CacheStats> => post(["cache", "clear"], {});

export const login = (token: string): Promise<LoginReply> => post(["login"], { token });
