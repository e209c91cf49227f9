/** The routes of the server as functions. */

import { address, get, post } from "./client";
import type {
  AboutReply,
  CacheStats,
  DiscardsReply,
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
  step: number;
  /** Only what was trained on, or only what was not. */
  trained: boolean;
  sort: string;
  descending: boolean;
  offset: number;
  limit: number;
  around?: string | undefined;
}

export const getRuns = (): Promise<RunsReply> => get(["runs"]);

export const getSteps = (run: string, split: string): Promise<StepsReply> => get(["runs", run, "steps"], { split });

export const getGroups = (run: string, split: string, step: number, trained: boolean): Promise<GroupsReply> =>
  get(["runs", run, "groups"], { split, step, trained });

export const getDiscards = (run: string, split: string): Promise<DiscardsReply> => get(["runs", run, "discards"], { split });

export const getSamples = (run: string, query: SamplesQuery): Promise<SamplesReply> =>
  get(["runs", run, "samples"], { ...query });

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
