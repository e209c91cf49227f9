/** The routes of the server as functions. */

import { address, blob, get, keepKey, lines, post } from "./client";
import type {
  AboutReply,
  MembersReply,
  CacheStats,
  ConfigsReply,
  ConfiguredReply,
  CurvesReply,
  CurvesRequest,
  FindReply,
  GroupsReply,
  Progress,
  LoginReply,
  MarkedReply,
  ProblemsReply,
  RawReply,
  ReportNode,
  RunsReply,
  SampleReply,
  SamplesReply,
  SearchEvent,
  SearchHitsReply,
  SearchRequest,
  SpansReply,
  StateChange,
  StateItem,
  StateReply,
  StepsReply,
  TextQuery,
  TextReply,
  TurnsReply,
} from "./types.gen";

export { ApiError, isAlone, onLocked, ticketed } from "./client";
export * from "./routes.gen";
export * from "./tokenRoutes";

/** Which samples, in which order, and which page of them. With `around`, the page with this sample. */
export interface SamplesQuery {
  split: string;
  step?: number | undefined;
  step_min?: number | undefined;
  step_max?: number | undefined;
  where?: string | undefined;
  group?: string | undefined;
  /** Only samples that the trainer used, or only discarded ones. */
  trained?: boolean | undefined;
  sort: string;
  descending: boolean;
  offset: number;
  limit: number;
  around?: string | undefined;
  column?: readonly string[] | undefined;
  /** For groups, the server adds the most informative columns after the named ones. */
  usual?: boolean | undefined;
}

export const getRuns = (): Promise<RunsReply> => get(["runs"]);

/** What differs between the configurations of all runs. */
export const getConfigs = (): Promise<ConfigsReply> => get(["configs"]);

export const findConfigured = (words: readonly string[]): Promise<ConfiguredReply> =>
  get(["configs", "find"], { word: words });

export const getSteps = (run: string, split: string): Promise<StepsReply> => get(["runs", run, "steps"], { split });

/** Groups instead of samples: offset, limit and order apply to groups. */
export const getGroups = (run: string, query: SamplesQuery): Promise<GroupsReply> =>
  get(["runs", run, "groups"], { ...query });

/** The address of all points of one curve, as a file. */
export const curveCsv = (request: CurvesRequest): string => address(["curve.csv"], { ask: JSON.stringify(request) });
/** Some curves of every run, in at most `points` points that keep the extremes. */
export const getCurves = (request: CurvesRequest): Promise<CurvesReply> => post(["curves"], request);
export const getSamples = (run: string, query: SamplesQuery): Promise<SamplesReply> =>
  get(["runs", run, "samples"], { ...query });

/** The progress of such an answer. */
export const getProgress = (run: string, of: "groups" | "samples", query: SamplesQuery): Promise<Progress> =>
  get(["runs", run, of, "progress"], { ...query });

/** The address of all samples of a list as CSV. */
export const samplesCsv = (run: string, query: Omit<SamplesQuery, "offset" | "limit">): string =>
  address(["runs", run, "samples.csv"], { ...query });

/** `after`: the place to cut the prompt of a sample, if no template divides it. */
export const getSample = (run: string, id: string, after?: string): Promise<SampleReply> =>
  get(["runs", run, "sample"], { id, after });

/**
 * The answers of a sample's group: `only` these, or all. Each begins `lead` characters before the end of the text that
 * all share, and has `chars` characters.
 */
export const getMembers = (
  run: string,
  query: {
    id: string;
    against?: string | undefined;
    only?: readonly string[] | undefined;
    chars: number;
    lead: number;
  },
): Promise<MembersReply> => get(["runs", run, "members"], query);

/** A page of turns that begins at `from`, or ends at `until`. */
export const getTurns = (
  run: string,
  id: string,
  page: { from?: number; until?: number },
  after?: string,
): Promise<TurnsReply> => get(["runs", run, "sample", "turns"], { id, after, ...page });

export const getRaw = (run: string, id: string, start: number): Promise<RawReply> =>
  get(["runs", run, "sample", "raw"], { id, start });

export const getText = (run: string, id: string, start: number): Promise<TextReply> =>
  get(["runs", run, "sample", "text"], { id, start });

export const findIn = (run: string, id: string, text: string, isCased: boolean, after?: string): Promise<FindReply> =>
  get(["runs", run, "sample", "find"], { id, after, text, case: isCased });

/** An image in a sample: `at` is the name of its part. */
export const getImage = (run: string, id: string, at: string, after?: string): Promise<Blob> =>
  blob(["runs", run, "sample", "image"], { id, after, at });

export const getProblems = (run: string, offset: number, limit: number): Promise<ProblemsReply> =>
  get(["runs", run, "problems"], { offset, limit });

export const getAbout = (run: string): Promise<AboutReply> => get(["runs", run, "about"]);

export const getReport = (run: string, split: string, step: number): Promise<ReportNode> =>
  get(["runs", run, "report"], { split, step });

/** The address of an unreadable record, as a download. */
export const problemRaw = (run: string, file: string, start: number, stop: number): string =>
  address(["runs", run, "problems", "raw"], { file, start, stop });

export const getCacheStats = (): Promise<CacheStats> => get(["cache", "stats"]);

export const clearCache = (): Promise<CacheStats> => post(["cache", "clear"], {});

/** The marked samples of a run, in their current state. */
export const getMarked = (run: string, before?: number): Promise<MarkedReply> =>
  get(["runs", run, "marked"], { before });

/** The address of a file of samples, from a query or the marked ones. */
export const exportAddress = (run: string, query: Record<string, string | number | boolean | undefined>): string =>
  address(["runs", run, "export"], query);

/** The marks of a person; with `since`, only those that changed after that version. */
export const getState = (since: number): Promise<StateReply> => get(["state"], { since });

/** Throws an `ApiError` of status 409 if another change came first; its `body` is then a `ConflictReply`. */
export const changeState = (change: Partial<StateChange> & Pick<StateChange, "kind" | "seen">): Promise<StateItem> =>
  post(["state"], change);

/** Exchange the token for a session: a cookie, and the key of the page. */
export async function login(token: string): Promise<void> {
  keepKey((await post<LoginReply>(["login"], { token })).key);
}

/** Search; calls `hear` with each event until the search is over or `signal` ends it. */
export const search = (
  request: SearchRequest,
  signal: AbortSignal,
  hear: (event: SearchEvent) => void,
): Promise<void> => lines(["search"], request, signal, hear);

/** Later hits of a search. */
export const getHits = (searchId: string, offset: number, limit: number): Promise<SearchHitsReply> =>
  get(["search", "hits"], { search: searchId, offset, limit });

/** The places of a text in a sample, in the parts on the page. */
export const getSpans = (run: string, id: string, what: TextQuery): Promise<SpansReply> =>
  post(["runs", run, "sample", "spans"], { id, search: what });
