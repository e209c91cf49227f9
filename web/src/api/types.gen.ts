// Generated from src/rolloupe/server/wire: `python -m rolloupe.server.wire.typescript`. Do not edit.

/** A finite number; "NaN", "Infinity", "-Infinity"; the digits of an integer past 2**53; or null for none. */
export type WireNumber = number | string | null;

/** A split of a run, with what is indexed of it so far. */
export interface SplitItem {
  name: string;
  steps: number;
  samples: number;
  /** How many of the samples were not trained on: the rewards are of the others. None where annotations decide. */
  discarded: number | null;
  first_step: number | null;
  last_step: number | null;
  /** Of the finite rewards, as `reward_max`. */
  reward_min: WireNumber;
  reward_max: WireNumber;
  /** Mean reward of the newest step that has one; where annotations decide, of the last step of the first split. */
  last_reward: WireNumber;
  /** Mean length of the responses at the newest step that has one. */
  last_response_tokens: WireNumber;
  last_response_chars: WireNumber;
}

/** How far the index of a run has come, in bytes of its sources. */
export interface ProgressView {
  done_bytes: number;
  total_bytes: number;
  /** `scalars`, `text` or `ready`. */
  phase: string;
}

/** A sample metric whose worst and best value the run tells; the worst is the greater where less is better. */
export interface MetricRange {
  name: string;
  worst: number;
  best: number;
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
  /** False where no step of it has a report. */
  may_report: boolean;
  progress: ProgressView;
  version: string;
  /** True while it is known to go on: changed within the last `quiet_s` seconds, and seen to, or marked `open`. */
  live: boolean;
  /** True once this server saw its files change: before that, `changed_s` may be the age of a copy. */
  has_grown: boolean;
  /** What the run's own marker says: `ended`, `open` where there is none yet; empty where the format has no marker. */
  ending: string;
  /** Seconds since a source last changed, None where unknown. */
  changed_s: number | null;
  /** So many quiet seconds are an end: three times the run's longest gap between writes, ten minutes at least. */
  quiet_s: number;
  /** The lowest and the highest reward there can be, where a person or the run says so. */
  reward_range: [number, number] | null;
  metric_ranges: MetricRange[];
}

/** What a run has for each key that differs, as text, cut where it is long; None where it has no such key. */
export interface ConfigItem {
  run: string;
  values: (string | null)[];
}

/** `GET /api/configs`: what differs between the configurations of all runs, the most telling keys first. */
export interface ConfigsReply {
  keys: string[];
  /** So many of them, the first, say more of a run than its name does. */
  telling: number;
  /** Those that have a configuration. */
  runs: ConfigItem[];
  /** Runs whose configuration was not looked at, as there are too many. */
  left: number;
}

/** A path that was looked at and not opened, and why. */
export interface NoteView {
  path: string;
  reason: string;
}

/** `GET /api/runs`. */
export interface RunsReply {
  runs: RunItem[];
  notes: NoteView[];
  /** Name and version of the server. */
  program: string;
}

/**
 * `GET /api/runs/{run}/curve?split=&name=`: a number of samples by step, over what was trained on.
 *
 * Or, with a name `trainer.NAME`, a metric of the trainer's, which is of no split and has no spread. Parallel columns,
 * one entry a step that has one, in ascending order of step.
 */
export interface CurveReply {
  run: string;
  split: string;
  name: string;
  version: string;
  steps: number[];
  mean: WireNumber[];
  std: WireNumber[];
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

/** A group of the list. `first` samples of the list stand before it. */
export interface GroupItem {
  group: string;
  step: number;
  /** Start of the prompt (its last user turn where a chat template is recognised). */
  prompt: string;
  samples: number;
  first: number;
  reward_mean: WireNumber;
  reward_std: WireNumber;
  env: string;
  /** Why samples of it were not trained on, the most frequent reason; empty where all were. */
  discarded: string;
  /** How the ids of its samples begin; they end with a part of `members`. */
  prefix: string;
  /** Its samples in the order that `sort` asks for, at most 1,000 of them. */
  members: string[];
  /** By column of the reply, over finite values. */
  means: WireNumber[];
  /** By column of the reply, a value for each of `members`. */
  cells: WireNumber[][];
}

/**
 * `GET /api/runs/{run}/groups?split=&step=&trained=&where=&sort=&descending=&column=&offset=&limit=`.
 *
 * The scope is one step, a range (`step_min=`, `step_max=`), or without both the whole split. `sort` is `index`, or a
 * column: groups are compared by its means, the samples of a group by its values. `column` may stand several times;
 * with `usual=1` the most informative ones follow them.
 */
export interface GroupsReply {
  run: string;
  split: string;
  version: string;
  /** How many groups there are. */
  total: number;
  /** How many samples fulfil the filter. */
  samples: number;
  /** How many samples the scope has, whatever the filter. */
  of: number;
  offset: number;
  /** That of the step, where the scope is one: see `StepsReply.stamps`. */
  stamp: number;
  columns: string[];
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

/**
 * One step of an evaluation: the mean value, the share of right answers, and for each k pass@k and pass^k.
 *
 * `problems_at` is how many problems have at least k answers, over which the two are means.
 */
export interface EvalStepItem {
  step: number;
  problems: number;
  samples: number;
  /** Samples without a finite value: in no other number. */
  without: number;
  score: WireNumber;
  right: WireNumber;
  pass_at: WireNumber[];
  pass_all: WireNumber[];
  problems_at: number[];
}

/** One evaluation: an answer is right where `metric` reaches `bar` (falls to it, where less is better). */
export interface EvalItem {
  split: string;
  metric: string;
  bar: WireNumber;
  falls: boolean;
  /** Where the bar comes from. */
  reason: string;
  metrics: string[];
  ks: number[];
  steps: EvalStepItem[];
}

/** `GET /api/runs/{run}/evals?metric=&bar=&k=`: every split that is an evaluation. */
export interface EvalsReply {
  run: string;
  version: string;
  evals: EvalItem[];
}

/**
 * A row of the grid: how many answers there were at each step, -1 where it was not asked, and how many were right.
 *
 * `beat`: whether its best reward was ever above the reference model's, null where there is none.
 */
export interface ProblemRow {
  problem: string;
  prompt: string;
  /** `solved`, `lost`, `mixed`, `never` or `always`. */
  verdict: string;
  n: number[];
  c: number[];
  beat: boolean | null;
}

/** `GET /api/runs/{run}/grid?split=&metric=&bar=&only=&sort=&offset=&limit=`: problems by steps, a page of them. */
export interface GridReply {
  run: string;
  split: string;
  version: string;
  metric: string;
  metrics: string[];
  bar: WireNumber;
  falls: boolean;
  reason: string;
  steps: number[];
  total: number;
  offset: number;
  problems: ProblemRow[];
  /** Problems by verdict; `unbeaten` are those that never were above the reference. */
  counts: Record<string, number>;
  /** Training prompts that came at one step alone, and are not in the grid. */
  once: number;
}

/** A sample of a cell. */
export interface AnswerItem {
  id: string;
  value: WireNumber;
  right: boolean | null;
  discarded: string;
  status: string;
  preview: string;
}

/** `GET /api/runs/{run}/evals/answers?split=&step=&problem=&metric=&bar=`: the samples of a cell of the grid. */
export interface CellReply {
  run: string;
  answers: AnswerItem[];
}

/** A sample in a list. */
export interface SampleItemView {
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
  /** Its end, where that start is not all of it. */
  end: string;
  prompt: string;
  discarded: string;
  env: string;
  /** By column of the reply: numbers, or texts as they are. */
  values: WireNumber[];
}

/**
 * `GET /api/runs/{run}/samples?split=&step=&trained=&where=&group=&sort=&descending=&offset=&limit=`.
 *
 * The scope is as in `GroupsReply`. Sorted by `index` the samples of a group stand together, groups in order of their
 * first sample. With `around=ID` the page is the one that holds this sample. `column` may stand several times.
 */
export interface SamplesReply {
  run: string;
  split: string;
  version: string;
  /** How many samples fulfil the filter. */
  total: number;
  /** How many the scope has, whatever the filter. */
  of: number;
  offset: number;
  /** That of the step: see `StepsReply.stamps`. */
  stamp: number;
  columns: string[];
  samples: SampleItemView[];
}

/** A column of samples; `low` and `high` are of the finite values seen. */
export interface ColumnItem {
  name: string;
  /** `number` or `text`. */
  kind: string;
  /** `fixed`, `metric` or `tag`. */
  source: string;
  low: WireNumber;
  high: WireNumber;
  /** As the run declares it, with `best`; the greater of both where less is better. */
  worst: WireNumber;
  best: WireNumber;
}

/** `GET /api/runs/{run}/columns?split=`: by what samples can be shown, sorted and filtered. */
export interface ColumnsReply {
  run: string;
  split: string;
  version: string;
  columns: ColumnItem[];
  /** The token series that samples of the run have: their means over tokens have curves by step. */
  series: string[];
  /** How many samples a group has, at most; 0 where that is not known. */
  group_size: number;
}

/** What may stand in a filter. `kind` is `column`, `operator`, `value` or `word`. */
export interface SuggestionItem {
  text: string;
  kind: string;
  note: string;
}

/** `GET /api/runs/{run}/complete?split=&step=&text=`: what may replace the end of `text`, from `start` on. */
export interface CompleteReply {
  start: number;
  found: SuggestionItem[];
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
  /** True where `/sample/image` gives the image that the record holds; `text` says what it is. */
  image: boolean;
  /** So many characters more stand in the raw record. */
  cut: number;
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
  /** What else was written about the turn: an object, as JSON. */
  logs: unknown;
  /** As `Fact` of kind `own`. */
  facts: Record<string, WireNumber>;
  parts: PartView[];
}

/** A labelled value of the sample. `kind`: `metric` (a number), `tag` (text), or `own`, in the framework's words. */
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
  /** The version or versions of the policy that wrote the response, where the record says so. */
  policy_version: string;
  /** By how many versions the policy was older than the one that was trained, where the record says so. */
  lag: WireNumber;
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
  /** A page of them; `/sample/turns` has the others. */
  turns: TurnView[];
  turn_from: number;
  turn_total: number;
  /** All characters of the transcript, the reference and the label. */
  chars: number;
  label: string;
  reference: Reference | null;
  /** Fields without a place of their own, as JSON; non-finite numbers encoded as in `number`. */
  extra: unknown;
  /** What the images among them are; `/sample/image` gives them as `extra.0`, `extra.1`, ... */
  extra_images: string[];
  series: SeriesInfo[];
  notes: string[];
  source: SourceInfo;
}

/** `GET /api/runs/{run}/sample/turns?id=&from=`: a page of the turns of a long sample. */
export interface TurnsReply {
  id: string;
  turns: TurnView[];
  turn_from: number;
  turn_total: number;
}

/** A stretch of an answer: what all answers begin with, what is also in the one compared with, and the rest. */
export interface MemberPiece {
  turn: number;
  role: string;
  name: string;
  /** As of `PartView`. */
  kind: string;
  common: string;
  shared: string;
  own: string;
}

/** The answer of a member of a group, or the part of it around the place at which it parts. */
export interface MemberText {
  id: string;
  pieces: MemberPiece[];
  /** How long all of it is. */
  chars: number;
  /** So many characters in front, which all answers share, are not sent. */
  skipped: number;
  /** So many at the end are not sent. */
  cut: number;
  /** `parts`, `ends` (where the other goes on), `same`, `alike` (as far as compared), `self`, `none`, `error`. */
  verdict: string;
  /** Characters in front of the place where it parts from the one compared with; -1 where it does not. */
  parts_at: number;
  error: string;
}

/**
 * `GET /api/runs/{run}/members?id=&against=&only=&chars=&lead=`: the answers of a sample's group, side by side.
 *
 * At most 64: those around the sample, or around it among those of `only`, which may stand several times. `chars` are
 * sent of each beyond what all share, and of that the last `lead`.
 */
export interface MembersReply {
  id: string;
  run: string;
  /** The one that the others are compared with: as asked for, else the best by reward. */
  against: string;
  best: string;
  total: number;
  offset: number;
  /** So many characters all answers shown begin with; those without any text aside. */
  common: number;
  answers: MemberText[];
  /** The one compared with, where it is not one of `answers`. */
  reference: MemberText | null;
  /** Of the sample asked for, its beginning; `own` has the text. */
  prompt: MemberPiece[];
  prompt_chars: number;
  label: string;
}

/** The answers to a prompt at a step; `id` is the first of them. */
export interface SameStep {
  split: string;
  step: number;
  id: string;
  groups: number;
  samples: number;
  /** How many of the samples were not trained on; the mean is over all. */
  discarded: number;
  reward_mean: WireNumber;
  reward_std: WireNumber;
  /** Mean, where they are told. */
  response_tokens: WireNumber;
}

/** `GET /api/runs/{run}/same?id=` or `?problem=`: where one prompt was answered, by split and step. */
export interface SameReply {
  run: string;
  /** By this the prompt is known in every run. */
  problem: string;
  steps: SameStep[];
  /** True where there are more steps than are told. */
  is_cut: boolean;
}

/** `GET /api/runs/{run}/sample/raw?id=&start=`: a block of the source record, verbatim (invalid UTF-8 replaced). */
export interface RawReply {
  id: string;
  source: SourceInfo;
  text: string;
  size_bytes: number;
  /** The block is bytes `start` to `stop` of `size_bytes`. */
  start: number;
  stop: number;
}

/** `GET /api/runs/{run}/sample/text?id=&start=`: a block of the sample as one text. */
export interface TextReply {
  id: string;
  text: string;
  chars: number;
  /** The block is characters `start` to `stop` of `chars`, counted in code points. */
  start: number;
  stop: number;
  /** True where the text stands in the record; else it was put together from messages. */
  is_own: boolean;
  /** The same, as a sentence. */
  origin: string;
}

/**
 * A place in the text of a part as it is shown, in units of UTF-16.
 *
 * `at` names the part: `12.3` is part 3 of turn 12, `ref0.1` one of the reference response, `label` the golden answer.
 */
export interface Span {
  at: string;
  start: number;
  stop: number;
}

/** `GET /api/runs/{run}/sample/find?id=&text=`: where a text stands; `spans` are the first of `total` places. */
export interface FindReply {
  total: number;
  spans: Span[];
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
  /** Samples of steps that a later launch recorded again: they are in no number. */
  superseded: number;
}

/** `GET /api/runs/{run}/metrics`: the names of the trainer's metrics, whose files are read whole for them. */
export interface MetricNamesReply {
  run: string;
  /** The first of them where there are too many. */
  names: string[];
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
  /** The element that it was logged as; empty for bare text. */
  tag: string;
}

/** `GET /api/runs/{run}/report?split=&step=`: what the trainer logged for a step, as an outline. */
export interface ReportReply {
  run: string;
  split: string;
  step: number;
  root: ReportNode;
}

/** What is looked for; `roles` of `prompt`, `response`, `system`, `user`, `assistant`, `tool`, or none for all. */
export interface TextSearch {
  text: string;
  regex: boolean;
  /** True where capitals and small letters differ. */
  case: boolean;
  word: boolean;
  roles: string[];
}

/**
 * `POST /api/search`: answers a `SearchEvent` a line until the search is over.
 *
 * A tab has one search at a time: a new one ends the one before. Closing the connection ends it, too.
 */
export interface SearchRequest {
  /** A word that the tab has made up for itself. */
  tab: string;
  search: TextSearch;
  /** Empty: all that are open. */
  runs: string[];
  /** Empty: all. */
  split: string;
  step_min: number | null;
  step_max: number | null;
  where: string;
  /** The hits of old steps first, in place of the newest. */
  oldest_first: boolean;
}

/** A piece of a text: `pieces` are in turn context and hit; the first and the last are context, perhaps empty. */
export interface SnippetView {
  role: string;
  pieces: string[];
  /** True where the text begins with it. */
  is_start: boolean;
  is_end: boolean;
}

/** A sample in which something was found. */
export interface SearchHit {
  run: string;
  id: string;
  split: string;
  step: number;
  group: string;
  index: string;
  reward: WireNumber;
  status: string;
  /** Why it was not trained on; empty where it was. */
  discarded: string;
  snippets: SnippetView[];
  /** True where there is more in it than the snippets show. */
  more: boolean;
}

/** A conversation that a trainer logged for a step, that no sample shows, and in which something was found. */
export interface TranscriptHit {
  run: string;
  split: string;
  step: number;
  /** Those of the sections that it stands in. */
  title: string;
  /** Where in the report of the step it stands: the numbers of the children that lead there, `0.3.1`. */
  at: string;
  snippets: SnippetView[];
  /** True where there is more in it than the snippets show. */
  more: boolean;
}

/** Samples in which something was found, of one step of a split. */
export interface StepFound {
  split: string;
  step: number;
  found: number;
}

/** A line of `POST /api/search`: what was found since, and how far the search has come. */
export interface SearchEvent {
  /** Names the search, for `GET /api/search/hits`. */
  search: string;
  /** `progress`, `waiting` (others are searching), `over`, `stopped` (another one took its place), or `failed`. */
  kind: string;
  /** The first hits, as they are found; later ones are asked for. */
  hits: SearchHit[];
  /** Samples in which something was found. */
  found: number;
  /** The same by run, of those that have some. */
  found_by_run: Record<string, number>;
  /** By step, where one run is searched: those found since the last event. */
  found_since: StepFound[];
  /** So many of them can be asked for. */
  listed: number;
  /** The first conversations of reports, as they are found: behind all samples. */
  transcripts: TranscriptHit[];
  /** All there are. */
  transcripts_found: number;
  /** Reports that were searched, of `known_reports`, which is 0 before it is their turn. */
  reports: number;
  known_reports: number;
  samples: number;
  known_samples: number;
  /** Of the files, as `known_bytes`, which are those that are indexed and of the steps in question. */
  searched_bytes: number;
  known_bytes: number;
  /** Samples whose texts were read from the files, since the index has none of them. */
  from_sources: number;
  /** What could not be searched, and why. */
  notes: string[];
  /** Runs of which more is being indexed: what comes is not searched. */
  indexing: string[];
}

/** `GET /api/search/hits?search=&offset=&limit=`. */
export interface SearchHitsReply {
  search: string;
  offset: number;
  hits: SearchHit[];
}

/** `POST /api/runs/{run}/sample/spans`. */
export interface SpansRequest {
  id: string;
  search: TextSearch;
}

/** Where in a sample it stands, in order. */
export interface SpansReply {
  id: string;
  spans: Span[];
  /** True where there is more than is listed. */
  more: boolean;
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

/** What a person says of a run. An empty name leaves it its own; `colour` is 1 to 10, 0 leaves it to the page. */
export interface RunMarkView {
  name: string;
  colour: number;
  hidden: boolean;
  note: string;
}

/** What a person says of a sample. `uid` and `excerpt` are filled in by the server, whatever was sent. */
export interface SampleMarkView {
  bookmarked: boolean;
  note: string;
  uid: string;
  /** How its response begins. */
  excerpt: string;
}

/** One thing that a person added. Where it was removed, it holds neither mark nor setting. */
export interface StateItem {
  /** `run`, `sample` or `setting`. */
  kind: string;
  /** The key of the run that it is about; empty for a setting. */
  owner: string;
  /** The id of the sample, the name of the setting; empty for a run. */
  name: string;
  version: number;
  /** Seconds since the epoch. */
  changed_s: number;
  run_mark: RunMarkView | null;
  sample_mark: SampleMarkView | null;
  setting: unknown;
}

/** A run that something was said of; `run` is its id here, empty where it is not open. */
export interface StateOwner {
  owner: string;
  run: string;
  name: string;
  format: string;
  path: string;
}

/**
 * `GET /api/state?since=`: what a person added; with `since` what has changed after that version.
 *
 * Of much it is a part, up to `version`; where `more` is true, the rest is had since that.
 */
export interface StateReply {
  version: number;
  more: boolean;
  items: StateItem[];
  owners: StateOwner[];
  /** The file that it is kept in. */
  place: string;
  /** Why that file cannot be used, so that changes are refused until it can; empty where it can. */
  trouble: string;
}

/**
 * `POST /api/state`: answers the `StateItem` as it is now, or with 409 a `ConflictReply`.
 *
 * The run is named by its id or, where it is not open, by `owner`. With neither mark nor setting the item is removed.
 */
export interface StateChange {
  kind: string;
  /** The version of the item as the person saw it, 0 for none. */
  seen: number;
  run: string;
  owner: string;
  name: string;
  run_mark: RunMarkView | null;
  sample_mark: SampleMarkView | null;
  setting: unknown;
}

/** The answer to a change that another one preceded, with the item as that left it. */
export interface ConflictReply {
  error: string;
  next: string;
  item: StateItem;
}

/** A sample that a person marked. `name` is the id under which that was done. */
export interface MarkedSample {
  name: string;
  /** As the run has it now, found by its id, else by its uid; null where it is there no longer. */
  sample: SampleItemView | null;
}

/** `GET /api/runs/{run}/marked?before=`: the samples of a run that a person marked, those marked last first. */
export interface MarkedReply {
  run: string;
  samples: MarkedSample[];
  /** With this, older ones are asked for; 0 where there are none. */
  before: number;
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
  /** Where in the text of a filter it stands that could not be understood, in characters from 0. */
  place: number | null;
}

/**
 * A message of `GET /api/events` (server-sent events, `data:` is this as JSON).
 *
 * `kind`: `run` (something changed: `run` holds the run as in the list), `runs` (a run appeared or went: ask again),
 * `state` (what a person added changed: ask for it) or `hello` (the stream is open).
 */
export interface Event {
  kind: string;
  run: RunItem | null;
}
