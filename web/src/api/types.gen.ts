// Generated from src/rolloupe/server/wire.py: `python -m rolloupe.server.typescript`. Do not edit.

/** A finite number; "NaN", "Infinity", "-Infinity"; the digits of an integer past 2**53; or null for none. */
export type WireNumber = number | string | null;

/** A split of a run, with what is indexed of it so far. */
export interface SplitItem {
  name: string;
  steps: number;
  samples: number;
  first_step: number | null;
  last_step: number | null;
  /** Of the finite rewards, as `reward_max`. */
  reward_min: WireNumber;
  reward_max: WireNumber;
}

/** How far the index of a run has come, in bytes of its sources. */
export interface Progress {
  done_bytes: number;
  total_bytes: number;
  /** `scalars`, `text` or `ready`. */
  phase: string;
}

/** A run in the list. `version` changes whenever anything that a query could answer changed. */
export interface RunItem {
  id: string;
  name: string;
  format: string;
  reason: string;
  path: string;
  splits: SplitItem[];
  problems: number;
  progress: Progress;
  version: string;
  /** True while its files changed within the last minutes. */
  live: boolean;
  /** Seconds since a source last changed, None where unknown. */
  changed_s: number | null;
  /** The lowest and the highest reward there can be, where a person or the run says so. */
  reward_range: [number, number] | null;
}

/** A path that was looked at and not opened, and why. */
export interface Note {
  path: string;
  reason: string;
}

/** `GET /api/runs`. */
export interface RunsReply {
  runs: RunItem[];
  notes: Note[];
  /** Name and version of the server. */
  program: string;
}

/** `GET /api/runs/{run}/steps?split=`: parallel columns, one entry a step, in ascending order of step. */
export interface StepsReply {
  run: string;
  split: string;
  version: string;
  steps: number[];
  /** How many were trained on; the mean reward is theirs. */
  samples: number[];
  /** How many were not. */
  discarded: number[];
  /** Mean over finite rewards. */
  reward_mean: WireNumber[];
  reward_std: WireNumber[];
  /** How many samples had no finite reward and are left out of the mean. */
  reward_excluded: number[];
  /** Steps that are not finished, by number: `being written` or `incomplete`. */
  states: Record<string, string>;
  /** A number for each step that is another where its samples are others. */
  stamps: number[];
}

/** A group of the step. `first` is the place of its first sample in the list sorted by index. */
export interface GroupItem {
  group: string;
  /** Start of the prompt (its last user turn where a chat template is recognised). */
  prompt: string;
  samples: number;
  first: number;
  reward_mean: WireNumber;
  reward_std: WireNumber;
  env: string;
  /** Why samples of it were not trained on, the most frequent reason; empty where all were. */
  discarded: string;
}

/** `GET /api/runs/{run}/groups?split=&step=&trained=`. */
export interface GroupsReply {
  run: string;
  split: string;
  step: number;
  version: string;
  groups: GroupItem[];
}

/**
 * `GET /api/runs/{run}/discards?split=`: parallel columns, one entry for each step and reason, by step.
 *
 * `unfinished` of the samples were cancelled or failed: there is no answer to read.
 */
export interface DiscardsReply {
  run: string;
  split: string;
  version: string;
  reasons: string[];
  steps: number[];
  samples: number[];
  groups: number[];
  unfinished: number[];
}

/** A sample in a list. */
export interface SampleItem {
  id: string;
  step: number;
  group: string;
  index: string;
  reward: WireNumber;
  advantage: WireNumber;
  status: string;
  turns: number;
  response_tokens: WireNumber;
  response_chars: number;
  /** Start of the response. */
  preview: string;
  prompt: string;
  discarded: string;
}

/**
 * `GET /api/runs/{run}/samples?split=&step=&trained=&sort=&descending=&offset=&limit=&around=`.
 *
 * Sorted by `index` the samples of a group stand together, groups in order of their first sample. With `around=ID`
 * the page is the one that holds this sample.
 */
export interface SamplesReply {
  run: string;
  split: string;
  step: number;
  version: string;
  total: number;
  offset: number;
  /** That of the step: see `StepsReply.stamps`. */
  stamp: number;
  samples: SampleItem[];
}

/** A tool call: `arguments` is pretty-printed JSON where it parses. */
export interface CallView {
  name: string;
  arguments: string;
  id: string;
  error: string;
}

/** A piece of a turn: `text` to read, `raw` where the verbatim text differs from it. */
export interface PartView {
  kind: string;
  text: string;
  raw: string | null;
  call: CallView | null;
  closed: boolean;
}

/** A message of the transcript. */
export interface TurnView {
  role: string;
  origin: string;
  name: string;
  tool_call_id: string;
  tokens: WireNumber;
  chars: number;
  reward: WireNumber;
  stop_reason: string;
  metrics: Record<string, WireNumber>;
  parts: PartView[];
}

/** A labelled value of the sample. `kind`: `metric` (a number) or `tag` (text). */
export interface Fact {
  name: string;
  kind: string;
  value: WireNumber;
}

/** A token series of the sample; the values come from `/sample/series`. */
export interface SeriesInfo {
  name: string;
  length: number;
  offset: number;
}

/** Where the sample stands: file (relative to the run) and byte range or place. */
export interface SourceInfo {
  file: string;
  start: number;
  stop: number;
  part: string;
}

/** The reference model's response; `gap` is reward minus its reward. */
export interface Reference {
  turns: TurnView[];
  reward: WireNumber;
  gap: WireNumber;
}

/** `GET /api/runs/{run}/sample?id=`: one sample, whole. */
export interface SampleReply {
  id: string;
  run: string;
  split: string;
  step: number;
  group: string;
  index: string;
  uid: string;
  reward: WireNumber;
  advantage: WireNumber;
  status: string;
  status_raw: string;
  env: string;
  discarded: string;
  turn_count: number;
  prompt_tokens: WireNumber;
  response_tokens: WireNumber;
  total_tokens: WireNumber;
  /** 1-based place among `group_size` samples of its group. */
  position: number;
  group_size: number;
  /** Ids of the group's samples in order (at most 1,000 around this one). */
  group_ids: string[];
  facts: Fact[];
  turns: TurnView[];
  label: string;
  reference: Reference | null;
  /** Fields without a place of their own, as JSON; non-finite numbers encoded as in `number`. */
  extra: unknown;
  series: SeriesInfo[];
  notes: string[];
  source: SourceInfo;
}

/** `GET /api/runs/{run}/sample/raw?id=`: the source record, verbatim (invalid UTF-8 replaced). */
export interface RawReply {
  id: string;
  source: SourceInfo;
  text: string;
  size_bytes: number;
  /** At most 4 MiB are sent unless `whole=1`; `shown_bytes < size_bytes` says that more exists. */
  shown_bytes: number;
}

/** A record that could not be read. */
export interface ProblemItem {
  file: string;
  start: number | null;
  stop: number | null;
  reason: string;
  /** The first bytes of the record, as text. */
  excerpt: string;
}

/** `GET /api/runs/{run}/problems?offset=&limit=`. */
export interface ProblemsReply {
  run: string;
  total: number;
  offset: number;
  problems: ProblemItem[];
}

/** A checkpoint that a run lists, which is not to say that it can still be loaded. */
export interface CheckpointItem {
  name: string;
  step: number | null;
  paths: Record<string, string>;
  extra: unknown;
}

/** A file of the run's folder. */
export interface FileItem {
  name: string;
  size_bytes: number;
  /** Seconds since the epoch. */
  changed_s: number;
  what: string;
}

/** The steps of a split that have a report. */
export interface ReportSteps {
  split: string;
  steps: number[];
}

/** `GET /api/runs/{run}/about`: what the run holds beside its samples. */
export interface AboutReply {
  run: string;
  path: string;
  format: string;
  reason: string;
  /** As the trainer wrote it; non-finite numbers encoded as in `number`. */
  config: unknown;
  checkpoints: CheckpointItem[];
  code_diff: string;
  files: FileItem[];
  /** Files that are not listed here, as there are too many. */
  files_left: number;
  reports: ReportSteps[];
}

/** A piece of what was logged for a step; all of it is plain text. */
export interface ReportNode {
  /** `root`, `section`, `text`, `code`, `table`, `details`, `conversation` or `exception`. */
  kind: string;
  title: string;
  text: string;
  header: string[];
  rows: string[][];
  turns: TurnView[];
  children: ReportNode[];
  attrs: Record<string, string>;
}

/** `GET /api/runs/{run}/report?split=&step=`: what the trainer logged for a step, as an outline. */
export interface ReportReply {
  run: string;
  split: string;
  step: number;
  root: ReportNode;
}

/** `GET /api/cache/stats`; `POST /api/cache/clear` answers the same, after clearing. */
export interface CacheStats {
  entries: number;
  limit_entries: number;
  memory_bytes: number;
  limit_bytes: number;
  hits: number;
  misses: number;
  /** Size of the index on disk, all open runs together. */
  index_bytes: number;
  index_dir: string;
}

/** `POST /api/login`: exchanges the token for the session cookie. */
export interface LoginRequest {
  token: string;
}

/** Answer of `POST /api/login`. */
export interface LoginReply {
  ok: boolean;
}

/** Every answer with a status of 400 and above: what failed, and what to do next. */
export interface ErrorReply {
  error: string;
  next: string;
}

/**
 * A message of `GET /api/events` (server-sent events, `data:` is this as JSON).
 *
 * `kind`: `run` (something changed: `run` holds the run as in the list), `runs` (a run appeared or went: ask again)
 * or `hello` (the stream is open).
 */
export interface Event {
  kind: string;
  run: RunItem | null;
}
