// Generated from src/rolloupe: `python -m tools.typescript`. Do not edit.

/** A finite number; "NaN", "Infinity", "-Infinity"; the digits of an integer past 2**53; or null for a missing one. */
export type WireNumber = number | string | null;

/** A sample in a list: the facts in the index. Its JSON is what the page gets, so that large dicts are optional. */
export interface SampleItem {
  id: string;
  split: string;
  step: number;
  group: string;
  index: string;
  uid: string;
  reward: WireNumber;
  advantage: WireNumber;
  status: string;
  turns: number;
  prompt_tokens: WireNumber;
  response_tokens: WireNumber;
  total_tokens: WireNumber;
  response_chars: number;
  env: string;
  discarded: string;
  /** Start of the prompt. */
  prompt: string;
  /** Start of the response. */
  response: string;
  /** The end of the response, if the start above is not all of it. */
  response_end: string;
  /** The values of the requested columns, in their order. */
  values: WireNumber[];
  /** All sample metrics, unless columns were requested. */
  metrics?: Record<string, number>;
  /** All tags, unless columns were requested. */
  tags?: Record<string, string>;
  /** Derived metrics in the query, by their names without `derived.`, unless columns were requested. */
  derived?: Record<string, number | string>;
  /** As in `SampleKey`. */
  attempt?: number;
  /** Columns of all samples that have no field here, unless columns were requested. */
  columns?: Record<string, number | string>;
}

/** The differences between the configurations of runs, most informative keys first. */
export interface ConfigsReply {
  keys: string[];
  /** How many of the first keys describe a run better than its name does. */
  telling: number;
  /** The runs that have a configuration. */
  runs: ConfigItem[];
  /** Runs that were not compared. */
  left: number;
}

/** A run's value of each differing key, as text, cut if long; None for a missing key. */
export interface ConfigItem {
  run: string;
  values: (string | null)[];
}

/** Some rows of `total` that match, from `offset`; of `keys` keys, `differing` differ. */
export interface ConfigTable {
  /** The ids of the runs, in the order of the values. */
  runs: string[];
  keys: number;
  differing: number;
  total: number;
  offset: number;
  rows: ConfigRow[];
  /** The runs without a configuration: they differ from the others in no key. */
  without: string[];
  /** Runs whose configuration was not read, for lack of time. */
  left: number;
}

/** A key, and its value as text in each run; None for a missing key. */
export interface ConfigRow {
  key: string;
  differs: boolean;
  values: (string | null)[];
  /** The places in `values` of those that are cut: none, unless the reader can take no more. */
  cut: number[];
}

/** A page of the `total` prompts that at least two of the runs answered at a step. */
export interface SharedPromptsReply {
  runs: string[];
  split: string;
  step: number;
  /** The number of prompts of each run at the step. */
  prompts_of: number[];
  total: number;
  /** How many of all these prompts have a higher mean reward in the last run than in the first. */
  gain: number;
  lose: number;
  stay: number;
  offset: number;
  prompts: SharedPromptItem[];
  /** True if a run has more prompts at the step than were compared. */
  is_cut: boolean;
}

/** A prompt; each list has an entry for every run, 0 samples and no mean for a run without the prompt. */
export interface SharedPromptItem {
  /** The hash of the prompt, which addresses use as its name. */
  name: string;
  prompt: string;
  /** All samples of the prompt, including discarded ones. */
  samples: number[];
  discarded: number[];
  /** Over the finite rewards. */
  reward_mean: WireNumber[];
}

/** The progress of a list. All numbers are 0 before it begins, and once the list is there. */
export interface Progress {
  /** The number of samples searched so far. */
  done: number;
  /** The number of samples to search; 0 until a question about a large run begins. */
  of: number;
  /** The number of matching samples or groups so far. */
  found: number;
}

/** The rewards of two runs, or of two groups of runs, compared over a window of steps. */
export interface RewardComparison {
  /** The ids of the runs of both sides; empty for runs of one recipe, or of more than two. */
  runs: string[][];
  /** True if each side is several runs of one recipe: their configurations differ in their seeds alone. */
  recipes: boolean;
  /** What it says, in one sentence or two. */
  text: string;
  /** The first run of the side with the higher mean reward; empty if the interval includes zero. */
  better: string;
  /** The mean reward of the better side less that of the other; of the first less the second if neither is better. */
  difference: WireNumber;
  low: WireNumber;
  /** The ends of its 95% interval; None with too few steps and prompts. */
  high: WireNumber;
  /** How many prompts that both runs answer the interval is over; 0 for an interval over steps or runs. */
  prompts: number;
  /** The step from which the two differ for good; None if they do not. */
  since: number | null;
  split: string;
  /** The first and the last step of the window; None without a common step. */
  steps: [number, number] | null;
  /** True if only prompts that both sides answer at a step are compared. */
  paired: boolean;
  curves: SideCurve[];
}

/** The mean reward of one side at each common step. */
export interface SideCurve {
  steps: number[];
  means: number[];
}

/** The indexed part of a split. */
export interface SplitItem {
  name: string;
  steps: number;
  samples: number;
  /** Number of discarded samples, which rewards leave out. None if annotations decide. */
  discarded: number | null;
  first_step: number | null;
  last_step: number | null;
  /** Over the finite rewards, like `reward_max`. */
  reward_min: WireNumber;
  reward_max: WireNumber;
  /** Mean reward of the newest step that has one; if annotations decide, of the last step of the first split. */
  last_reward: WireNumber;
  /** Mean length of the responses at the newest step that has one. */
  last_response_tokens: WireNumber;
  last_response_chars: WireNumber;
}

/** A sample metric with a declared worst and best value; the worst is the greater one if less is better. */
export interface MetricRange {
  name: string;
  worst: number;
  best: number;
}

/** A run in the list. `version` changes whenever any answer about the run may have changed. */
export interface RunItem {
  id: string;
  name: string;
  format: string;
  reason: string;
  path: string;
  /** What a bundled run holds, in a sentence; empty for all others. */
  about: string;
  /** The heading of a bundled run in the list of runs; empty for all others. */
  group: string;
  splits: SplitItem[];
  problems: number;
  may_report: boolean;
  /** True if its files are read, and hold no sample but the trainer's metrics. */
  has_metrics_alone: boolean;
  /** The last reward in these metrics, for a run with metrics alone. */
  logged_reward: WireNumber;
  progress: IndexProgress;
  version: string;
  /** True while the run is known to continue: its files changed within `quiet_s` seconds, or its marker is `open`. */
  live: boolean;
  /** True once this server saw its files change: before that, `changed_s` may be the age of a copy. */
  has_grown: boolean;
  /** The run's own marker: `ended`, or `open` if it has not ended; empty if the format has no marker. */
  ending: string;
  /** Seconds since a source last changed, None if unknown. */
  changed_s: number | null;
  /** Quiet seconds that mean the run has ended: three times its longest gap between writes, at least ten minutes. */
  quiet_s: number;
  /** The lowest and the highest possible reward, if a person or the run declares them. */
  reward_range: [number, number] | null;
  metric_ranges: MetricRange[];
}

/** How many bytes of the sources are indexed, how many there are in total, and the current phase. */
export interface IndexProgress {
  done_bytes: number;
  total_bytes: number;
  phase: string;
}

/** `GET /api/configs/find?word=&word=`: for each word, the ids of the runs whose configuration has it. */
export interface ConfiguredReply {
  found: string[][];
}

/** A path that was not opened, and why. */
export interface NoteView {
  path: string;
  reason: string;
}

/** `GET /api/runs`. */
export interface RunsReply {
  runs: RunItem[];
  notes: NoteView[];
  /** True until the first search for runs has ended: more may follow, and ids change of runs whose names repeat. */
  searching: boolean;
  /** Name and version of the server. */
  program: string;
  /** The run that the start page leads to; empty: the list of runs. */
  opens_on: string;
}

/** `GET /api/runs/{run}/steps?split=`: parallel columns, one entry for each step, in ascending order. */
export interface StepsReply {
  run: string;
  split: string;
  version: string;
  steps: number[];
  /** Number of trained samples; the mean reward covers them. */
  samples: number[];
  discarded: number[];
  /** Mean over finite rewards. */
  reward_mean: WireNumber[];
  reward_std: WireNumber[];
  /** Number of samples without a finite reward, which the mean leaves out. */
  reward_excluded: number[];
  /** Unfinished steps, by number: `being written` or `incomplete`. */
  states: Record<string, string>;
  /** A stamp for each step, which changes when its samples do. */
  stamps: number[];
}

/** `POST /api/curves`: several curves, each for every run. */
export interface CurvesRequest {
  runs: string[];
  curves: CurveQuery[];
  /** The maximum number of points of one curve. A longer curve keeps its extremes and its gaps. */
  points: number;
  step_min: number | null;
  step_max: number | null;
  /** A key of configurations: the mean over the runs that share its value, in the place of each run. */
  group_by: string;
}

/**
 * One curve of a run.
 *
 * `kind` decides the meaning of `name`:
 *
 * - `sample`: a numeric column or sample metric, over the samples that were trained on;
 * - `token`: a token series, over the tokens of a step;
 * - `trainer`: a metric that the trainer logged;
 * - `eval`: the metric that grades an evaluation, or empty for the metric that the run suggests;
 * - `share`: `discarded`, or a status such as `truncated`, as a share of all samples of a step; `zero_advantage`, as a
 *   share of the trained samples with an advantage;
 * - `mask`: a rule that masks or clips tokens, such as `ppo`, or `recorded` for the trainer's own flags: the share of
 *   the update of the recorded tokens that is lost to it, or of these tokens;
 * - `group`: `all_best`, `all_worst`, `without_spread` or `mixed`, as a share of the groups with several rewards;
 * - `outcome`: `length_right` and `length_wrong`, mean response tokens, or `right` and `wrong`, numbers of answers;
 * - `correlation`: a numeric column or sample metric; Pearson's r of it and the reward, over the same samples;
 * - `samples`: the number of samples; its name is empty;
 * - `elapsed`: seconds since the first point with a time that the trainer logged; its name is empty;
 * - `cumulative`: the sum of a numeric column over the trained samples of a step and of all steps before it.
 */
export interface CurveQuery {
  kind: string;
  name: string;
  /** The split, `eval` for all evaluations together; empty for the first split. Trainer metrics have none. */
  source: string;
  /** One of `STATS`; empty for the default. */
  stat: string;
  options: CurveOptions;
  /** The curve whose value at a step is the x of the point, without its smoothing and cuts; None: x is the step. */
  x: CurveQuery | null;
}

/** Options that some curves need beside a name. */
export interface CurveOptions {
  /** For a mean: also return the standard deviation of each point. */
  spread: boolean;
  /**
   * Span, in steps, of a bias-corrected moving average; 0 turns it off. -1 is usual: a tenth of the points, from 5 to
   * 50, or 0 below 30 points.
   */
  smooth: number;
  /** For an evaluation: the minimum value of a correct answer; None takes the run's own. */
  threshold: number | null;
  /** For an evaluation: the k of pass@k and pass^k. */
  k: number;
  /** For the share `discarded`: count this reason only. */
  reason: string;
  /** Leave out the first step of the curve. */
  skip_first: boolean;
  /**
   * Leave out values that lie beyond the quartiles by more than this many times their distance (Tukey's rule, usually
   * 1.5), except those at the beginning, where a run learns; 0 keeps all.
   */
  outliers: number;
  /** Subtract the first finite value of the curve from all values. */
  from_zero: boolean;
  /** Leave out the steps after this one. */
  last_step: number | null;
  /** A filter: only samples that match it count. Curves of tokens and of the trainer have no samples to filter. */
  where: string;
  /** For a sample metric: also return two quantiles of each step, one of `BANDS`. */
  band: string;
  /** Return only points from this x on, and the one before it, so that a line enters the range where it does. */
  x_min: number | null;
  /** Return only points up to this x, and the one after it. */
  x_max: number | null;
}

/** Runs that share a value of a key of their configurations; null for runs without the key. */
export interface CurveGroup {
  value: string | null;
  runs: string[];
}

/** The points of a curve in ascending order of step; `values`, `spread` and `smooth` are as long as `steps`. */
export interface CurveData {
  /** Of a group, the first run. */
  run: string;
  /** The position of the curve in the request. */
  curve: number;
  steps: number[];
  values: WireNumber[];
  /** Standard deviations, if the request asks for them and the curve has them. */
  spread: WireNumber[] | null;
  /** The lower ends of the band of quantiles, if the request asks for one and the curve has it. */
  low: WireNumber[] | null;
  high: WireNumber[] | null;
  smooth: WireNumber[] | null;
  /** The number of points; for a long curve, `steps` holds fewer. */
  points: number;
  /** The number of outliers left out of the range; they are not among the points. */
  left_out: number;
  /** The least and the greatest x of the range including outliers, if outliers are left out. */
  reach: number[] | null;
  /** The x of each point, if the request names one: it may fall, or be the same for several points. */
  x: number[] | null;
  /** The number of points of the range whose step has no finite x; they are left out. */
  without_x: number;
  /** The start of elapsed time, in seconds since 1970. */
  x_start_s: number | null;
  /** The number of `samples` with a value at each point; null where every sample has one. */
  with_value: number[] | null;
  samples: number[] | null;
  /** Why this run has no such curve, with the nearest names; empty if it has one. */
  error: string;
}

/** A curve that a run has; `kind`, `name`, `source` and `stat` are those of `CurveQuery`. */
export interface CatalogueEntry {
  kind: string;
  name: string;
  source: string;
  stat: string;
  /** For pass@k and pass^k of an evaluation; 0 for all others. */
  k: number;
  /** For the samples discarded for one reason; empty for all others. */
  reason: string;
  title: string;
  section: string;
  unit: string;
  /** Its meaning, in a sentence; empty where only the framework knows it. */
  about: string;
  /** The lower bound of the values of its samples; null if unknown. */
  low: WireNumber;
  high: WireNumber;
}

/** `GET /api/runs/{run}/catalogue?split=`: the curves that a run has, by section. */
export interface CatalogueReply {
  entries: CatalogueEntry[];
  left_out: number;
}

/** An alarm of a rule. */
export interface AlarmItem {
  /** A few words, with the number that matters. */
  title: string;
  /** The numbers, in a sentence. */
  text: string;
  first_step: number;
  last_step: number;
  /** The split of the samples; empty for the first one. */
  split: string;
  /** The filter of the samples that show it; empty: all of these steps. */
  where: string;
  sort: string;
  descending: boolean;
  /** The curves that show it; none for an alarm about the samples themselves. */
  curves: CurveName[];
  /** True if the samples that show it were discarded. */
  discarded: boolean;
  /** The sample with the token that shows it best; empty without a token. */
  sample: string;
  /** The place of that token in the sample. */
  token: number | null;
  /** The token series that it has the greatest value of. */
  series: string;
  rule: string;
  /** `error` or `hint`. */
  severity: string;
  /** When the rule raises an alarm. */
  words: string;
}

/** A curve that an alarm is about; see `CurveQuery`. */
export interface CurveName {
  kind: string;
  name: string;
  /** The evaluation; empty for all other curves. */
  source: string;
}

/** `GET /api/runs/{run}/alarms`: what looks wrong in the curves of a run, errors first. */
export interface AlarmsReply {
  rules: number;
  alarms: AlarmItem[];
  left_out: number;
  /** The rules that could not be checked, and why. */
  unchecked: UncheckedRule[];
}

/** A rule that could not be checked. */
export interface UncheckedRule {
  rule: string;
  reason: string;
}

/** The answer: for each run, in the order of the request, every curve in that order. */
export interface CurvesReply {
  /** By run; it changes whenever any of the run's curves may have changed. */
  versions: Record<string, string>;
  curves: CurveData[];
  /** If runs are grouped: each stands for a run in `curves`. `spread`, `low` and `high` are those of its runs. */
  groups: CurveGroup[] | null;
}

/**
 * `GET /api/runs/{run}/distribution?name=&split=&columns=&step_min=&step_max=`.
 *
 * Counts of the trained samples with a finite value, by column and bin. Bin `i` holds the values from `edges[i]` up
 * to, not including, `edges[i + 1]`; column `i` covers the steps from `first_steps[i]` to `last_steps[i]`.
 */
export interface DistributionReply {
  edges: number[];
  first_steps: number[];
  last_steps: number[];
  /** By column, then by bin. */
  counts: number[][];
}

/** The values of a metric in a run. */
export interface RunMetricItem {
  last: WireNumber;
  last_step: number | null;
  highest: WireNumber;
  lowest: WireNumber;
  /** The moving average at the last value: the value itself if the query smooths nothing. */
  smooth: WireNumber;
  run: string;
}

/** `POST /api/run-metrics`: a metric of some runs, or of all without any. */
export interface RunMetricsRequest {
  runs: string[];
  curve: CurveQuery;
}

/** The metric of the runs that were looked at in time; `left` runs wait for the next request. */
export interface RunMetricsReply {
  runs: RunMetricItem[];
  left: number;
}

/** `GET /api/catalogue`: the curves of all runs that were looked at in time. */
export interface RunsCatalogueReply {
  entries: CatalogueEntry[];
  /** Number of runs without an answer yet: the next request continues with them. */
  left: number;
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
  total: number;
  problems: ProblemItem[];
}

/** Curves that a tracker keeps of the run. */
export interface TrackerItem {
  /** What wrote them: `TensorBoard`, `trackio`, ... */
  kind: string;
  path: string;
  /** The run's name there; empty without one. */
  name: string;
  /** The first of the metrics that it adds to the trainer's own. */
  metrics: string[];
  metric_count: number;
  /** The metric that holds the trainer's step; empty where the tracker counts steps. */
  step_name: string;
  /** What was not read, and why. */
  note: string;
}

/** The steps of a split that have a report. */
export interface ReportSteps {
  split: string;
  steps: number[];
}

/** `GET /api/runs/{run}/about`: everything that the run holds except its samples. */
export interface AboutReply {
  path: string;
  format: string;
  reason: string;
  /** As the trainer wrote it; non-finite numbers encoded as in `number`. */
  config: unknown;
  checkpoints: Checkpoint[];
  code_diff: string;
  files: RunFile[];
  files_left: number;
  reports: ReportSteps[];
  trackers: TrackerItem[];
  /** Samples of steps that a later launch recorded again: no statistic counts them. */
  superseded: number;
}

/** A saved state of training, with the loop state saved beside it. */
export interface Checkpoint {
  name: string;
  step: number | null;
  paths: Record<string, string>;
  extra: Record<string, unknown>;
}

/** A file in the folder of a run: `name` is its path below it, and `what` its contents, if known. */
export interface RunFile {
  name: string;
  size_bytes: number;
  /** Seconds since the epoch. */
  changed_s: number;
  what: string;
}

/** A piece of a step's logged outline; `GET /api/runs/{run}/report?split=&step=` returns the outermost one. */
export interface ReportNode {
  kind: "code" | "conversation" | "details" | "exception" | "root" | "section" | "table" | "text";
  title: string;
  text: string;
  header: string[];
  rows: string[][];
  turns: TurnView[];
  children: ReportNode[];
  /** Attributes of the node, such as its group and its trajectory. */
  attrs: Record<string, string>;
  /** Its element, such as `section` or `table`; empty for bare text. */
  tag: string;
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
  /** Further logs of the turn: an object, as JSON. */
  logs: unknown;
  /** As `Fact` of kind `own`. */
  facts: Record<string, WireNumber>;
  parts: PartView[];
}

/** A part of a turn: `text` to read, and `raw` if the verbatim text differs. */
export interface PartView {
  kind: string;
  text: string;
  raw: string | null;
  /** Its arguments are formatted if they parse. */
  call: ToolCall | null;
  closed: boolean;
  /** True if `/sample/image` returns an image from the record; `text` describes it. */
  image: boolean;
  /** Number of further characters: only the raw record holds them. */
  cut: number;
  styles: [number, number, string][];
  /** A call as a person reads it. */
  summary: CallSummary | null;
  /** What the result of a call says; the text is that of its turn. */
  result: CallResult | null;
}

/** One call of a tool. `arguments` is JSON text if it parsed, otherwise as the model wrote it. */
export interface ToolCall {
  name: string;
  arguments: string;
  id: string;
  error: string;
}

/** A call in one line, and what that line leaves out. */
export interface CallSummary {
  form: "arguments" | "code" | "command" | "edit";
  /** On one line: a command, the beginning of code, a path, or the arguments with their names. */
  line: string;
  /** If there is more: a whole command, a difference (its lines begin with `+`, `-` or a space), or the arguments. */
  body: string;
  /** Lines that an edit adds. */
  added: number | null;
  removed: number | null;
}

/** What the result of a call says. */
export interface CallResult {
  /** The number of the turn that has the result. */
  turn: number;
  /** `unknown` where the record says neither that the call worked nor that it failed. */
  outcome: "failed" | "ok" | "timeout" | "unknown";
  exit_code: number | null;
  duration_s: number | null;
  /** The error that the record states, in its words. */
  error: string;
  lines: number;
  /** Lines that mention an error, among the first million characters. */
  error_lines: number;
}

/** A group of the list. `first` counts the samples of the list before it. */
export interface GroupItem {
  group: string;
  step: number;
  /** Start of the prompt (of its last user turn if a chat template is recognised). */
  prompt: string;
  samples: number;
  first: number;
  reward_mean: WireNumber;
  reward_std: WireNumber;
  env: string;
  /** The most frequent reason why its samples were discarded; empty if none were. */
  discarded: string;
  /** The common start of its samples' ids; each id ends with a part of `members`. */
  prefix: string;
  /** Its samples, ordered by `sort`, at most 1,000. */
  members: string[];
  /** By column of the reply, over finite values. */
  means: WireNumber[];
  /** By column of the reply, a value for each of `members`. */
  cells: WireNumber[][];
}

/**
 * What a page of groups and a page of samples share.
 *
 * Both take `split=&step=&trained=&where=&sort=&descending=&column=&offset=&limit=`. The scope is one step, a range
 * (`step_min=`, `step_max=`), or without either the whole split. `column` may appear several times. With `around=ID`,
 * the page is the one with this sample.
 */
export interface ListReply {
  version: string;
  /** Number of groups, or of samples, that match the filter. */
  total: number;
  /** Number of samples in the scope, whatever the filter. */
  of: number;
  offset: number;
  /** The stamp of the step, if the scope is one step: see `StepsReply.stamps`. */
  stamp: number;
  /** Samples in scope still without a derived metric of the filter or order: its value counts as missing. */
  pending: number;
  /** With a filter on trained samples: the discarded ones in scope that match it too. */
  discarded: number;
  /** Why the filter matches no sample, or only some: names in it that samples lack. */
  reasons: string[];
  /** The columns whose values each sample has. */
  columns: string[];
}

/**
 * `GET /api/runs/{run}/groups`.
 *
 * `sort` is `index` or a column, which orders groups by its mean and the samples of a group by its value. `usual=1`
 * adds the most informative columns after the requested ones.
 */
export interface GroupsReply {
  version: string;
  /** Number of groups, or of samples, that match the filter. */
  total: number;
  /** Number of samples in the scope, whatever the filter. */
  of: number;
  offset: number;
  /** The stamp of the step, if the scope is one step: see `StepsReply.stamps`. */
  stamp: number;
  /** Samples in scope still without a derived metric of the filter or order: its value counts as missing. */
  pending: number;
  /** With a filter on trained samples: the discarded ones in scope that match it too. */
  discarded: number;
  /** Why the filter matches no sample, or only some: names in it that samples lack. */
  reasons: string[];
  /** The columns whose values each sample has. */
  columns: string[];
  /** Number of samples that match the filter. */
  samples: number;
  groups: GroupItem[];
}

/**
 * `GET /api/runs/{run}/samples`, also with `group=`.
 *
 * Sorted by `index`, the samples of a group are adjacent, and groups follow the order of their first sample.
 */
export interface SamplesReply {
  version: string;
  /** Number of groups, or of samples, that match the filter. */
  total: number;
  /** Number of samples in the scope, whatever the filter. */
  of: number;
  offset: number;
  /** The stamp of the step, if the scope is one step: see `StepsReply.stamps`. */
  stamp: number;
  /** Samples in scope still without a derived metric of the filter or order: its value counts as missing. */
  pending: number;
  /** With a filter on trained samples: the discarded ones in scope that match it too. */
  discarded: number;
  /** Why the filter matches no sample, or only some: names in it that samples lack. */
  reasons: string[];
  /** The columns whose values each sample has. */
  columns: string[];
  run: string;
  samples: SampleItem[];
}

/**
 * A labelled value of the sample.
 *
 * `kind`: `metric` (a number), `tag` (text), `own` (the framework's own words) or `derived` (by Rolloupe from the
 * texts).
 */
export interface Fact {
  name: string;
  kind: string;
  value: WireNumber;
  /** A readable label, if it differs from the name. */
  label: string;
}

/** A token series of the sample; `/sample/tokens` has its values. */
export interface SeriesInfo {
  name: string;
  length: number;
  offset: number;
}

/** Where the sample is: file (relative to the run) and byte range or position. */
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

/** `GET /api/runs/{run}/sample/turns?id=&from=`: a page of the turns of a long sample. */
export interface TurnsReply {
  turns: TurnView[];
  turn_from: number;
  turn_total: number;
}

/** `GET /api/runs/{run}/sample?id=`: one whole sample, with its first page of turns. */
export interface SampleReply {
  turns: TurnView[];
  turn_from: number;
  turn_total: number;
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
  cause: string;
  env: string;
  discarded: string;
  /** The version or versions of the policy that wrote the response, if the record has them. */
  policy_version: string;
  /** How many versions the sampling policy was behind the trained one, if the record has it. */
  lag: WireNumber;
  /** Identifies the prompt in every run: see `PromptLife`. Empty in a report. */
  prompt_id: string;
  /** At how many steps the prompt appears; None if that is not known yet. */
  prompt_steps: number | null;
  turn_count: number;
  prompt_tokens: WireNumber;
  response_tokens: WireNumber;
  total_tokens: WireNumber;
  /** 1-based position among the `group_size` samples of its group. */
  position: number;
  group_size: number;
  /** Ids of the group's samples in order (at most 1,000 around this one). */
  group_ids: string[];
  facts: Fact[];
  /** Number of characters of the transcript, the reference and the label. */
  chars: number;
  label: string;
  reference: Reference | null;
  /** Fields without a place of their own, as JSON; non-finite numbers encoded as in `number`. */
  extra: unknown;
  /** Descriptions of the images in them; `/sample/image` returns them as `extra.0`, `extra.1`, ... */
  extra_images: string[];
  series: SeriesInfo[];
  notes: string[];
  /** Its place in the report of its step, if known. */
  report_at: string;
  source: SourceInfo;
}

/** A stretch of an answer: `common` to all answers, then `shared` with the compared answer, then its `own` text. */
export interface MemberPiece {
  turn: number;
  role: string;
  name: string;
  kind: string;
  common: string;
  shared: string;
  own: string;
}

/** The answer of a member of a group, or the part of it around the place where it diverges. */
export interface MemberText {
  id: string;
  pieces: MemberPiece[];
  chars: number;
  /** Characters at the start, which all answers share, that are not sent. */
  skipped: number;
  /** Characters at the end that are not sent. */
  cut: number;
  /** `parts`, `ends` (where the other goes on), `same`, `alike` (in what was compared), `self`, `none`, `error`. */
  verdict: string;
  /** Characters before the place where it diverges from the compared answer; -1 if it does not. */
  parts_at: number;
  error: string;
}

/**
 * `GET /api/runs/{run}/members?id=&against=&only=&chars=&lead=`: the answers of a sample's group, side by side.
 *
 * The reply has the 64 answers around the sample, or around it among those of `only`, which may appear several times.
 * Each has up to `chars` characters after the shared start, and the last `lead` characters of that start.
 */
export interface MembersReply {
  id: string;
  run: string;
  /** The answer that the others are compared with: the requested one, else the best by reward. */
  against: string;
  best: string;
  total: number;
  offset: number;
  /** Number of characters that all shown answers begin with, except answers without text. */
  common: number;
  answers: MemberText[];
  /** The compared answer, if it is not one of `answers`. */
  reference: MemberText | null;
  /** The start of the requested sample; `own` has its text. */
  prompt: MemberPiece[];
  prompt_chars: number;
  label: string;
}

/** `GET /api/runs/{run}/sample/raw?id=&start=`: a block of the source record, verbatim (invalid UTF-8 replaced). */
export interface RawReply {
  source: SourceInfo;
  text: string;
  size_bytes: number;
  /** The block is bytes `start` to `stop` of `size_bytes`. */
  start: number;
  stop: number;
}

/** `GET /api/runs/{run}/sample/text?id=&start=`: a block of the sample as one text. */
export interface TextReply {
  text: string;
  chars: number;
  /** The block is characters `start` to `stop` of `chars`, counted in code points. */
  start: number;
  stop: number;
  /** True if the record holds the text; otherwise it was assembled from messages. */
  is_own: boolean;
  /** The same, as a sentence. */
  origin: string;
}

/**
 * A place in the text of a part as the page shows it, in UTF-16 units.
 *
 * `at` names the part: `12.3` is part 3 of turn 12, `ref0.1` a part of the reference response, `label` the golden
 * answer.
 */
export interface Span {
  at: string;
  start: number;
  stop: number;
}

/** `GET /api/runs/{run}/sample/find?id=&text=`: the places of a text; `spans` are the first of `total`. */
export interface FindReply {
  total: number;
  spans: Span[];
}

/**
 * An array of the answer: `length` elements from byte `offset` on, counted from the end of the header.
 *
 * `kind` is `series`, `ids`, `span` (`turn`, `part`, `start`, `stop`), `text` (`bytes`, `ends`) or `update`
 * (`coefficients`, `effects`).
 */
export interface TokenArray {
  kind: string;
  name: string;
  /** `f8`, `f4` (series and coefficients in a report), `i4`, `u4` or `u1`, little-endian. */
  dtype: string;
  offset: number;
  length: number;
  /** What people call the series; this field and those below belong to series alone. */
  title: string;
  about: string;
  /** `difference`: a recorded series minus the same series, computed. */
  origin: "derived" | "difference" | "recorded";
  /** How to colour the series unless the reader chooses; `symmetric` has two hues around 0. */
  scale: "linear" | "log" | "symmetric";
}

/** A rule about tokens. */
export interface RuleInfo {
  name: string;
  title: string;
  /** True if the run was trained with it. */
  is_of_run: boolean;
}

/** A rule that takes tokens out of the loss: those beyond one of its limits. */
export interface MaskRuleInfo {
  name: string;
  title: string;
  /** True if the run was trained with it. */
  is_of_run: boolean;
  /** The series that the rule compares. */
  series: string;
  limits: Limit[];
}

/** Takes out the tokens whose value is beyond `base + factor * value`, if their advantage has one of the signs. */
export interface Limit {
  /** The name of the threshold; `value` is its value. */
  threshold: string;
  /** NaN: the limit takes no token out. */
  value: number;
  /** `high`: values above the limit are taken out; `low`: values below it. */
  side: "high" | "low";
  signs: ("down" | "up" | "zero")[];
  base: number;
  factor: number;
}

/** A rule that says what a step of training does to each token. */
export interface UpdateRuleInfo {
  name: string;
  title: string;
  /** True if the run was trained with it. */
  is_of_run: boolean;
  about: string;
  /** By name: the run's, else the usual ones. */
  thresholds: Record<string, number>;
  /** The weight of the KL penalty in the run's loss, whichever rule this is, else 0. It needs `ref_logprobs`. */
  kl_weight: number;
  /** The setting of the run that has this weight. */
  kl_setting: string;
  /** By setting, the weights of penalties in the run's loss that the coefficients leave out. */
  left_out: Record<string, number>;
  /** How the run's loss weighs tokens, whichever rule this is; null if its configuration does not say. */
  aggregation: "sequence_mean" | "token_mean" | null;
  /** The settings of the run that name the rule. */
  read_from: string;
}

/**
 * The sums of the absolute coefficients of some trained tokens: `up`, `down`, and `lost` to the rule.
 *
 * The denominator of shares is `up + down + lost` of all tokens. `taken_out` counts the tokens that the rule takes
 * out, `unmoved` those with an advantage of 0, `uncounted` those whose coefficient is unknown, infinite or above
 * 1e290: the sums leave them out.
 */
export interface UpdatePush {
  /** A role, a token string, the id of a sample, a group, positions such as `8–15`; empty for an unknown role. */
  name: string;
  tokens: number;
  up: WireNumber;
  down: WireNumber;
  taken_out: number;
  lost: WireNumber;
  unmoved: number;
  uncounted: number;
}

/** What the step does to one sample, beside the arrays `coefficients` and `effects`. */
export interface SampleUpdate {
  rule: string;
  whole: UpdatePush;
  by_role: UpdatePush[];
  /** The token strings that push most, or the ids where the record has no strings. */
  by_string: UpdatePush[];
  /** By the number of tokens in the loss that precede a token in its sample. */
  by_position: UpdatePush[];
}

/** How many of the trained tokens of a sample two rules treat differently. */
export interface SampleDifference {
  id: string;
  differing: number;
  tokens: number;
}

/** What a step does to the samples of a group or of a step: those that push most first. */
export interface UpdateReply {
  rule: string;
  whole: UpdatePush;
  by_role: UpdatePush[];
  /** The token strings that push most, or the ids where the record has no strings. */
  by_string: UpdatePush[];
  /** By the number of tokens in the loss that precede a token in its sample. */
  by_position: UpdatePush[];
  by_sample: UpdatePush[];
  by_group: UpdatePush[];
  samples: number;
  /** The effective sample size, from the ratios of the sequences; null if no sample has a ratio. */
  effective_samples: WireNumber;
  /** The number of samples that are left out by the reason: `discarded`, or what their records lack. */
  left_out: Record<string, number>;
  /** How many tokens `by_string` leaves out because the samples have more different strings than are kept. */
  unnamed: number;
  /** The samples with tokens that the rule `against` treats differently, most tokens first; at most 500. */
  differing: SampleDifference[];
  differing_samples: number;
}

/** `GET /api/runs/{run}/sample/top-logprobs`: the recorded alternatives of one token, the token among them. */
export interface TopLogprobsReply {
  alternatives: Alternative[];
}

/** A token that the model could have sampled: its string, or its id as text. */
export interface Alternative {
  text: string;
  logprob: number;
  /** True for the token that the model did sample. */
  is_chosen: boolean;
}

/** Tokens `start` to `start + count` of the `total` that sample `id` has. */
export interface TokensHeader {
  id: string;
  total: number;
  start: number;
  count: number;
  arrays: TokenArray[];
  /** The rules of masks that can be applied to the series of the sample, the run's own first. */
  rules: MaskRuleInfo[];
  /** The rules of updates that can be applied to them, the run's own first. */
  updates: UpdateRuleInfo[];
  /** For a request that names a rule. */
  update: SampleUpdate | null;
  /** How the strings are written: as text, with letters for bytes, or with `▁` for a blank. */
  spelling: "bytes" | "pieces" | "plain";
  has_alternatives: boolean;
  /** The bytes, such as `F0 9F`, of the ids that are part of a character, where a tokenizer made the strings. */
  partial: Record<string, string>;
}

/**
 * `POST /api/search`: the answer is one `SearchEvent` on each line until the search is over.
 *
 * A tab has one search at a time: a new one ends the previous one. Closing the connection also ends it.
 */
export interface SearchRequest {
  /** A name that the tab generates for itself. */
  tab: string;
  search: TextQuery;
  /** Empty: all open runs. */
  runs: string[];
  /** Empty: all. */
  split: string;
  step_min: number | null;
  step_max: number | null;
  where: string;
  oldest_first: boolean;
}

/** A text or an expression to find in samples; an empty `roles` means prompts and responses. */
export interface TextQuery {
  text: string;
  regex: boolean;
  /** True for a case-sensitive search. */
  case: boolean;
  /** True if a hit must not lie within a longer word. */
  word: boolean;
  /** Some of `ROLES`: the whole prompt or response, or the messages of one role. */
  roles: string[];
}

/** A text that contains the searched one. */
export interface TextHit {
  run: string;
  split: string;
  step: number;
  snippets: Snippet[];
  /** True if it has more hits than the snippets show. */
  more: boolean;
}

/** A piece of a text: `pieces` alternate between context and hit, and begin and end with (maybe empty) context. */
export interface Snippet {
  role: string;
  pieces: string[];
  /** True if the text begins with it. */
  is_start: boolean;
  is_end: boolean;
}

/** A sample that contains the text. */
export interface SearchHit {
  run: string;
  split: string;
  step: number;
  snippets: Snippet[];
  /** True if it has more hits than the snippets show. */
  more: boolean;
  id: string;
  group: string;
  index: string;
  reward: WireNumber;
  status: string;
  /** Why it was discarded; empty if it was not. */
  discarded: string;
}

/** A conversation that contains the text: a trainer logged it for a step, and no sample shows it. */
export interface TranscriptHit {
  run: string;
  split: string;
  step: number;
  snippets: Snippet[];
  /** True if it has more hits than the snippets show. */
  more: boolean;
  /** The titles of the sections that contain it. */
  title: string;
  /** Its path in the step's report: child numbers, `0.3.1`. */
  at: string;
}

/** The number of matching samples of one step of a split. */
export interface StepFound {
  split: string;
  step: number;
  found: number;
}

/** A line of `POST /api/search`: new hits, and the progress of the search. */
export interface SearchEvent {
  /** The name of the search for `GET /api/search/hits`. */
  search: string;
  /** `progress`, `waiting` (for other searches), `over`, `stopped` (a new one replaced it), or `failed`. */
  kind: string;
  /** The first hits, as they are found; request later ones separately. */
  hits: SearchHit[];
  found: number;
  /** The same by run, for runs with matches. */
  found_by_run: Record<string, number>;
  /** By step, if the search covers one run: new matches since the last event. */
  found_since: StepFound[];
  listed: number;
  /** The first conversations of reports, which are searched after all samples. */
  transcripts: TranscriptHit[];
  transcripts_found: number;
  /** Searched reports, of `known_reports`, which is 0 until all samples are searched. */
  reports: number;
  known_reports: number;
  samples: number;
  known_samples: number;
  /** Searched bytes of the files, of `known_bytes`: the indexed bytes of the steps in scope. */
  searched_bytes: number;
  known_bytes: number;
  /** Samples whose texts were read from the files, because the index lacks them. */
  from_sources: number;
  /** Which runs or places were not searched, and why. */
  notes: string[];
  /** Runs that are being indexed: the search does not cover their new samples. */
  indexing: string[];
}

/** `GET /api/search/hits?search=&offset=&limit=`. */
export interface SearchHitsReply {
  hits: SearchHit[];
}

/** `POST /api/runs/{run}/sample/spans`. */
export interface SpansRequest {
  id: string;
  search: TextQuery;
}

/** The places of the text in a sample, in order. */
export interface SpansReply {
  spans: Span[];
  /** True if not all places are listed. */
  more: boolean;
}

/** One item of a person's own data. A removed item has neither mark nor setting. */
export interface StateItem {
  /** `run`, `sample`, `layout` or `setting`. */
  kind: string;
  /** The key of its run; empty for a setting. */
  owner: string;
  /** The id of the sample, the page of the layout or the name of the setting; empty for a run. */
  name: string;
  version: number;
  /** Seconds since the epoch. */
  changed_s: number;
  run_mark: RunMark | null;
  sample_mark: SampleMark | null;
  setting: unknown;
  /** The person who added it; empty without a team. */
  by: string;
  shared: boolean;
}

/** A person's name, colour and note for a run. An empty name keeps the run's own. */
export interface RunMark {
  name: string;
  colour: number;
  hidden: boolean;
  note: string;
}

/** A person's bookmark, note and judgement on a sample, and what identifies the sample if its id changes. */
export interface SampleMark {
  bookmarked: boolean;
  note: string;
  /** `good`, `bad`, or empty. */
  judgement: string;
  uid: string;
  /** Start of its response, for lists while the run is missing. */
  excerpt: string;
}

/** A run that a person marked; `run` is its id in this server, empty if it is not open. */
export interface StateOwner {
  owner: string;
  run: string;
  name: string;
  format: string;
  path: string;
}

/**
 * `GET /api/state?since=`: a person's own data; with `since`, the changes after that version.
 *
 * A large state comes in parts: this one reaches up to `version`; if `more` is true, request the rest since then.
 */
export interface StateReply {
  version: number;
  more: boolean;
  /** The person's private items. */
  items: StateItem[];
  /** Items that the person and others of the team share; empty without a team. */
  shared: StateItem[];
  /** The name of the person; empty without a team. */
  user: string;
  /** `reader`, who may change nothing, `writer` or `admin`; `admin` without a team. */
  role: string;
  /** The address that ends the person's login; empty where the server has none. */
  logout: string;
  owners: StateOwner[];
  place: string;
  /** Why that file cannot be used, so that changes are refused for now; empty if it can. */
  trouble: string;
}

/**
 * `POST /api/state`: the answer is the current `StateItem`, or with 409 a `ConflictReply`.
 *
 * The id names the run or, if it is not open, `owner` does. With neither mark nor setting, the item is removed.
 */
export interface StateChange {
  kind: string;
  /** The version of the item that the person saw, 0 for a new one. */
  seen: number;
  run: string;
  owner: string;
  name: string;
  run_mark: RunMark | null;
  sample_mark: SampleMark | null;
  setting: unknown;
  /** True to change what the team sees, separate from a private item of the same name. */
  shared: boolean;
  /** The person whose shared item an admin removes. */
  by: string;
}

/** The answer if another change came first, with the item after that change. */
export interface ConflictReply {
  error: string;
  next: string;
  item: StateItem;
}

/** A sample that a person marked. `name` is its id at that time. */
export interface MarkedSample {
  name: string;
  /** The run's current sample, found by id, else by uid; null if the run no longer has it. */
  sample: SampleItem | null;
}

/** `GET /api/runs/{run}/marked?before=`: the samples of a run that a person marked, last marked first. */
export interface MarkedReply {
  samples: MarkedSample[];
  /** The value of `before` for older ones; 0 if none are left. */
  before: number;
}

/** `POST /api/login`: exchanges the token for a session: a cookie, and the key of the page. */
export interface LoginRequest {
  token: string;
}

/** The answer to `POST /api/login`. */
export interface LoginReply {
  /** The page sends it with each request as `X-Rolloupe-Key`: the cookie alone opens nothing. */
  key: string;
}

/** `POST /api/ticket`: asks for a ticket for one address, from `/api/` on. */
export interface TicketRequest {
  address: string;
}

/** The answer to `POST /api/ticket`. */
export interface TicketReply {
  /** Appended to the address as `ticket=`, it stands for the page key: once, and within a minute. */
  ticket: string;
}

/**
 * A message of `GET /api/events` (server-sent events, `data:` is this as JSON).
 *
 * `kind`: `run` (a run changed: `run` holds it as in the list), `runs` (a run appeared or disappeared: request the
 * list), `state` (a person's own data changed: request it) or `hello` (the stream is open).
 */
export interface Event {
  kind: string;
  run: RunItem | null;
}

/** `GET /api/cache/stats`; `POST /api/cache/clear` returns the same, after clearing. */
export interface CacheStats {
  entries: number;
  limit_entries: number;
  memory_bytes: number;
  limit_bytes: number;
  hits: number;
  misses: number;
  /** Size of the index on disk, for all open runs. */
  index_bytes: number;
  index_dir: string;
}

/** Every answer with a status of 400 or above: what failed, and what to do next. */
export interface ErrorReply {
  error: string;
  next: string;
  /** Where a filter could not be parsed, in characters from 0. */
  place?: number | null;
}

/** What is worth saying of a run in three sentences, each with the place that shows it. */
export interface BriefQuery {
  /** A split, such as train. Default: train, or the first one. */
  split?: string | undefined;
}

/** What is worth saying of a run. */
export interface Brief {
  run: string;
  version: string;
  /** At most three, the most important first. */
  sentences: BriefSentence[];
  /** The split whose rewards they are about. */
  split: string;
  /** How many samples it has. */
  samples: number;
  /** How many samples the index has not reached: what is paid for may be missing. */
  pending: number;
}

/** One sentence, and what shows it. */
export interface BriefSentence {
  text: string;
  kind: "answers" | "curves" | "data" | "held_out" | "paid_for" | "reward";
  /** The first and the last of the steps that it is about; None for all of a run. */
  steps: [number, number] | null;
  evidence: Evidence;
}

/** Where a sentence can be seen: a page, and what it shows there. */
export interface Evidence {
  page: "evals" | "findings" | "metrics" | "rollouts";
  split: string;
  /** A filter of samples. */
  where: string;
  sort: string;
  descending: boolean;
  /** True if the samples were discarded. */
  discarded: boolean;
  curve: CurveName | null;
  /** The phrase or the behaviour of a finding, or a rule that samples break. */
  finding: string;
  /** The ids of some samples, the clearest first. */
  samples: string[];
}

/** What the reward pays for: phrases and behaviours, those that matter most first. */
export interface FindingQuery {
  /** The first step. */
  step_min?: number | null | undefined;
  /** The last step, inclusive. */
  step_max?: number | null | undefined;
  /** A split, such as train. Default: train, or the first one. */
  split?: string | undefined;
  /** Only samples of this environment. */
  env?: string | null | undefined;
  /** The sample metric that says what is correct, if its name does not say so. */
  correct?: string | undefined;
}

/** The findings of a window of a run, and what was searched. */
export interface RunFindings {
  run: string;
  version: string;
  /** Those that matter most first. */
  findings: Finding[];
  /** What each class means, in a few words. */
  meanings: Record<string, string>;
  split: string;
  env: string | null;
  step_min: number | null;
  step_max: number | null;
  /** The number of samples in the steps. */
  samples: number;
  /** How many samples with a reward were scanned. */
  scanned: number;
  /** How many samples the index has not reached. */
  pending: number;
  /** How many samples were read again, to tell features apart. */
  read: number;
  /** The number of groups whose rewards differ: only they can show anything. */
  groups: number;
  /** The number of features tested. */
  tested: number;
  /** How many of them would pass by chance. */
  expected: number;
  least_z: number;
  largest_z: number;
  /** The metric that counts as correctness; empty without one. */
  correct: string;
  /** The sample metrics that a person may name as correctness. */
  metrics: string[];
  /** The smallest effect for each use that a phrase in a tenth of the samples could show; None if too few vary. */
  smallest: number | null;
  /** Says in sentences what was searched, and without findings, what could have been found. */
  note: string;
}

/** Something that the reward pays for, or that rises unpaid. */
export interface Finding {
  /** A sentence with the numbers that matter, and one with what else is on the card. */
  text: string;
  class: "drift" | "earned" | "suspect" | "unverified" | "watch";
  /** The words, as a sample has them in lower case; empty for a behaviour. */
  phrase: string;
  /** The derived metric, such as `derived.repeated_4grams`; empty for a phrase. */
  behaviour: string;
  /** The phrase in quotation marks, or the behaviour in a few words. */
  title: string;
  /** A regular expression for RE2 and JavaScript that finds it in any case; empty for most behaviours. */
  pattern: string;
  /** A filter that lists the samples with much of a behaviour; empty for a phrase, which a search finds. */
  where: string;
  /** The reward over siblings without it; of an amount that nearly all samples have, for each doubling. */
  effect: number;
  z: number;
  /** The same effect on correctness; None if the run has no such metric. */
  correctness: number | null;
  /** The share of the samples that have it in the first third of the steps. */
  first: number;
  /** The share in the last third. */
  last: number;
  /** The t statistic of the rise of its mean from the first third of the steps to the last. */
  rise: number;
  prevalence: Prevalence;
  samples: ReadingList;
  /** The titles of findings on the same card: nearly the same samples have them, or they say the same. */
  also: string[];
}

/** How common a feature is over the steps, in at most 40 bins of steps. */
export interface Prevalence {
  /** The first step of each bin. */
  steps: number[];
  /** The share of the samples that have the feature. */
  shares: number[];
  /** Its mean: uses for each sample, or the value of the behaviour. */
  means: number[];
  /** The reward over siblings for each unit; None if the feature does not vary among siblings. */
  effects: (number | null)[];
}

/** The samples that show a finding, by id; empty for none. */
export interface ReadingList {
  /**
   * Two siblings. The first has more of the feature, or less if it is punished, and the better reward, but it is no
   * more correct, if the run says what is correct.
   */
  pairs: [string, string][];
  /** The first sample that has the feature. */
  earliest: string;
  /** A sample that has the feature, or less of it if it is punished, and a worse reward than its siblings. */
  counterexample: string;
}

/** Where the gradient of the trained samples came from. */
export interface GradientQuery {
  /** The first step. */
  step_min?: number | null | undefined;
  /** The last step, inclusive. */
  step_max?: number | null | undefined;
  /** Only samples of this environment. */
  env?: string | null | undefined;
  /** The sample metric that says what is correct, if its name does not say so. */
  correct?: string | undefined;
  /** 0: each step by itself. */
  bins?: number | undefined;
}

/** Where the gradient of the trained samples of a window came from. */
export interface RunGradient {
  run: string;
  version: string;
  step_min: number | null;
  step_max: number | null;
  env: string | null;
  /** Trained samples with a reward. */
  samples: number;
  /** Samples with a reward that were not trained on: nothing but `groups`, `dead` and `single` counts them. */
  discarded: number;
  /** Groups with a reward, those that were discarded too. */
  groups: number;
  /** How many of them have equal rewards, and no gradient. */
  dead: number;
  /** How many of the groups have one sample, and no siblings. */
  single: number;
  /**
   * The effective number of groups: (Σw)²/Σw² of w = Σa² on rewards. This many groups of equal weight would pull
   * alike.
   */
  effective: number;
  /** A step each, or as many ranges of steps as were asked for. */
  by_step: StepGroups[];
  /** The metric that counts as correctness; empty without one. */
  correct: string;
  /** Groups whose trained samples are all right; 0 without a metric of correctness. */
  all_right: number;
  /** Groups whose trained samples are all wrong. A group with a sample without the metric is neither. */
  all_wrong: number;
  /** Groups all right or all wrong, whose rewards differ by other parts only; None without correctness. */
  shaping: GradientShare | null;
  /** A sample each of those of these groups that pull most after the division. */
  shaping_samples: string[];
  /** A sample each of the latest dead groups. */
  dead_samples: string[];
  by_env: GradientShare[];
  by_length: GradientShare[];
  by_outcome: GradientShare[];
  /** None for one environment alone. */
  prompts: PromptCounts | null;
  /** Why nothing has a gradient; empty if something has one. */
  note: string;
}

/** The groups of a step. */
export interface StepGroups {
  step: number;
  groups: number;
  /** How many of them have equal rewards, and no gradient. */
  dead: number;
}

/** Some of the samples, and their share of Σa² over all of them. */
export interface GradientShare {
  name: string;
  /** A filter that lists them; empty for what no filter can say. */
  where: string;
  samples: number;
  /** The groups that have some of them. */
  groups: number;
  /** The share of Σa² if a is the reward less the mean of the group. */
  on_rewards: number;
  /** The share if that is divided by the standard deviation of the group, as GRPO does. */
  on_std: number;
  /** The share by the advantages that the trainer recorded; None if a sample has none. */
  recorded: number | null;
}

/** How prompts fared that were asked at several steps. */
export interface PromptCounts {
  /**
   * The metric that decides whether an answer is right. A prompt does well at a step if more than half of its answers
   * are right.
   */
  metric: string;
  /** Prompts of one step alone; the others are counted below. */
  once: number;
  /** They did well at every step. */
  always: number;
  /** No answer was ever right. */
  never: number;
  /** They do well at the last step, but did not at every step. */
  solved: number;
  /** They did well before, but not at the last step. */
  lost: number;
  /** They never did well, with some right answers. */
  mixed: number;
}

/** What each part of the reward pays for, as a formula. */
export interface PartQuery {
  /** The first step. */
  step_min?: number | null | undefined;
  /** The last step, inclusive. */
  step_max?: number | null | undefined;
  /** A split, such as train. Default: train, or the first one. */
  split?: string | undefined;
  /** Only samples of this environment. */
  env?: string | null | undefined;
}

/** The parts of the reward in a window of a run. */
export interface RunParts {
  run: string;
  version: string;
  /** Those best explained first. */
  parts: RewardPart[];
  /** Such as `reward = correct + format`; empty if the parts do not add up to the reward. */
  whole: string;
  split: string;
  env: string | null;
  step_min: number | null;
  step_max: number | null;
  /** The number of samples whose words were read. */
  samples: number;
  /** How many samples of the steps the index has not reached. */
  pending: number;
  /** Says in sentences which parts the reward has, and which samples they were fitted to. */
  note: string;
}

/** A part of the reward, and the features of texts that explain it among siblings. */
export interface RewardPart {
  /** The sample metric; `reward` for a reward without parts; `the rest of the reward` for what no part explains. */
  name: string;
  /** The formula with its R², or the reason why it has none. */
  text: string;
  terms: PartTerm[];
  /**
   * The share of the variance among siblings that the formula explains, in groups that it was not chosen on; None
   * if the part varies in too few groups, or in none.
   */
  r2: number | null;
  /** The standard deviation among siblings. */
  spread: number;
  /** The number of groups where it varies. */
  groups: number;
}

/** One summand of a formula: `weight` times `words`. */
export interface PartTerm {
  /** Such as `has “<answer>”` or `min(uses of “check”, 6)`. */
  words: string;
  weight: number;
  /** The share of the part's variance that it explains beside the terms before it, in the groups it was chosen on. */
  share: number;
  /** In lower case, `#` for a number; empty for a behaviour. */
  phrase: string;
  /** The derived metric, such as `derived.repeated_sentences`; empty for a phrase. */
  behaviour: string;
  /** A regular expression that finds the phrase, whatever its case; empty for a behaviour. */
  pattern: string;
  /** A filter that lists the samples with the behaviour; empty for a phrase, which a search finds. */
  where: string;
}

/** What is wrong with the samples, the certain rules first. */
export interface LintQuery {
  /** The first step. */
  step_min?: number | null | undefined;
  /** The last step, inclusive. */
  step_max?: number | null | undefined;
  /** One split. Default: all. */
  split?: string | undefined;
}

/** The rules that the samples of a run break. */
export interface RunLint {
  run: string;
  version: string;
  /** Certain ones first, then those that need a look. */
  broken: BrokenRule[];
  unchecked: UncheckedRule[];
  /** The rules that could be checked, by name. */
  checked: string[];
  /** How many samples were looked at. */
  samples: number;
  /** How many of them were not trained on: rules about the update leave these out. */
  discarded: number;
  /** How many of them were read whole, spread evenly over the steps, for the rules that need their arrays or texts. */
  read: number;
}

/** A rule that some samples break. */
export interface BrokenRule {
  rule: string;
  /** When it is broken, in words. */
  words: string;
  /** True if this is wrong without a threshold; False for what needs a look. */
  is_certain: boolean;
  /** One sentence with the number that matters. */
  text: string;
  /** How many samples are known to break it: of a rule about the series of a step, those with its extreme tokens. */
  count: number;
  /** The ids of some of them. */
  samples: string[];
}

/** How many samples were discarded, by step and reason. */
export interface DiscardQuery {
  /** The split, such as train. */
  split: string;
}

/**
 * Parallel columns, one entry for each step and reason, by step.
 *
 * `unfinished` of the samples were cancelled or failed: they have no answer to read. `at_zero` have a reward of 0, and
 * `above_zero` a larger one.
 */
export interface RunDiscards {
  run: string;
  version: string;
  split: string;
  reasons: string[];
  steps: number[];
  samples: number[];
  groups: number[];
  unfinished: number[];
  at_zero: number[];
  above_zero: number[];
}

/** Where a run saved a checkpoint or was resumed, by step. */
export interface LandmarkQuery {
}

/** Steps at which a run saved a checkpoint or was resumed, in ascending order. */
export interface Landmarks {
  run: string;
  version: string;
  saved: Saved[];
  resumed: Resumed[];
  /** Number of earlier ones, which are in no list. */
  left_out: number;
}

/** A checkpoint with a step. */
export interface Saved {
  step: number;
  name: string;
}

/** A launch of the run after the first one. */
export interface Resumed {
  /** The first step whose samples of this launch count. */
  step: number;
  launch: number;
  /** The number of its steps that an earlier launch had recorded, too. */
  again: number;
}

/** The names of the trainer's metrics. */
export interface MetricNameQuery {
}

/** The names of the trainer's metrics, which are read from its files. */
export interface MetricNames {
  run: string;
  version: string;
  /** The first names, if there are too many. */
  names: string[];
}

/** The columns to show, sort and filter samples by. */
export interface ColumnQuery {
  /** The split, such as train. */
  split: string;
}

/** The columns to show, sort and filter samples by. */
export interface RunColumns {
  run: string;
  version: string;
  split: string;
  columns: ColumnInfo[];
  /** The token series of the run's samples: their means over tokens have curves by step. */
  series: string[];
  /** The maximum number of samples in a group; 0 if unknown. */
  group_size: number;
}

/** A column of samples. `low` and `high` cover the finite values; None for text, or without such a value. */
export interface ColumnInfo {
  name: string;
  /** `number` or `text`. */
  kind: string;
  /** `fixed`, `metric`, `tag` or `derived`. */
  source: string;
  low: WireNumber;
  high: WireNumber;
  /** The declared range, with `best`; if less is better, this is the greater number. */
  worst: WireNumber;
  best: WireNumber;
  /** A label for people; empty if it would add nothing to the name. */
  label: string;
  unit: string;
  /** True if no sample has a number; False while annotations or the index may still add one. */
  is_empty: boolean;
}

/** How an unfinished filter may go on. */
export interface CompletionQuery {
  /** The first step. */
  step_min?: number | null | undefined;
  /** The last step, inclusive. */
  step_max?: number | null | undefined;
  /** The split, such as train. */
  split: string;
  /** One step instead of several. */
  step?: number | null | undefined;
  /** The filter up to the cursor. */
  text?: string | undefined;
  /** Only values of trained samples, or of discarded ones; both by default. */
  trained?: boolean | null | undefined;
}

/** Candidates to replace the characters from `start` to the cursor. */
export interface Completion {
  run: string;
  version: string;
  start: number;
  found: Suggestion[];
}

/** A completion. `kind` is `column`, `operator`, `value` or `word`; `note` is a remark for people. */
export interface Suggestion {
  text: string;
  kind: string;
  note: string;
}

/** Which samples to judge next. */
export interface JudgingQuery {
  /** The first step. */
  step_min?: number | null | undefined;
  /** The last step, inclusive. */
  step_max?: number | null | undefined;
  /** The split, such as train. */
  split: string;
  /** One step instead of several. */
  step?: number | null | undefined;
  /** A filter: only samples that match it. */
  where?: string | undefined;
  /** Discarded samples instead of trained ones. */
  discarded?: boolean | undefined;
  /** At random, low to high rewards in equal shares, or where the reward is most in doubt first. */
  order?: "disagreement" | "random" | "strata" | undefined;
  /** Another number gives another random order. */
  seed?: number | undefined;
  /** The maximum number of samples. */
  limit?: number | undefined;
}

/** The samples to judge, the next one first. */
export interface JudgingQueue {
  run: string;
  version: string;
  ids: string[];
  /** The samples of the scope that are not judged yet. */
  samples: number;
  /** The metric whose disagreement with the reward decides; empty if groups with mixed rewards come first. */
  against: string;
}

/** Whether the reward agrees with the judgements of a person. */
export interface AgreementQuery {
  /** One split. Default: all. */
  split?: string | undefined;
  /** A reward is high from here on. Default: the value that best splits the rewards in two. */
  threshold?: number | null | undefined;
  /** Only these samples. */
  ids?: string[] | undefined;
}

/** How often the reward agrees with the judgements of a person: it is high for good samples and low for bad ones. */
export interface Agreement {
  run: string;
  version: string;
  /** The judged samples with a reward. */
  samples: number;
  agree: number;
  /** The lower end of the 95% interval of the share that agrees; null without samples. */
  low: WireNumber;
  /** The upper end. */
  high: WireNumber;
  /** A reward is high from here on. */
  threshold: WireNumber;
  /** Where the threshold comes from. */
  reason: string;
  /** The judged samples in all, with or without a reward. */
  good: number;
  bad: number;
  without_reward: number;
  /** The pairs of a good and a bad sample with the same prompt in a group. */
  pairs: number;
  cells: AgreementCell[];
}

/** The samples of one judgement with a high or a low reward. */
export interface AgreementCell {
  /** `good` or `bad`. */
  judgement: string;
  /** `high` or `low`. */
  reward: string;
  samples: number;
  /** A filter for these samples. */
  where: string;
}

/** Every evaluation by step. */
export interface EvalQuery {
  /** The sample metric that grades answers. Default: the run's own. */
  metric?: string | undefined;
  /** The threshold of a correct answer. Default: the run's own. */
  bar?: number | null | undefined;
  /** The k of pass@k and pass^k, such as 1,4,8. Default: powers of two. */
  k?: string | undefined;
}

/** Every split that is an evaluation. */
export interface RunEvals {
  run: string;
  version: string;
  evals: EvalSummary[];
}

/** One evaluation: the metric and threshold that grade it, and the scores by step, for each of `ks`. */
export interface EvalSummary {
  split: string;
  metric: string;
  bar: WireNumber;
  falls: boolean;
  reason: string;
  metrics: string[];
  ks: number[];
  steps: EvalStep[];
}

/**
 * One step of an evaluation. `score` is the mean value, `correct` the share of correct answers.
 *
 * `pass_at` and `pass_all` are means over the prompts with at least k answers, `prompts_at` their number.
 */
export interface EvalStep {
  step: number;
  prompts: number;
  samples: number;
  /** Samples without a finite value: no other number counts them. */
  without: number;
  score: WireNumber;
  correct: WireNumber;
  pass_at: WireNumber[];
  pass_all: WireNumber[];
  prompts_at: number[];
}

/** The prompts of a split by its steps, a page of them. */
export interface GridQuery {
  /** The first step. */
  step_min?: number | null | undefined;
  /** The last step, inclusive. */
  step_max?: number | null | undefined;
  /** The split, such as train. */
  split: string;
  /** The sample metric that grades answers. Default: the run's own. */
  metric?: string | undefined;
  /** The threshold of a correct answer. Default: the run's own. */
  bar?: number | null | undefined;
  /** Only prompts of this verdict, or `unbeaten` ones. */
  only?: string | undefined;
  /** index, last, change or share. */
  sort?: string | undefined;
  /** How many prompts to skip. */
  offset?: number | undefined;
  /** The maximum number of prompts. */
  limit?: number | undefined;
}

/** Prompts by steps, a page of them: `total` prompts of the requested kind. */
export interface PromptGrid {
  run: string;
  version: string;
  split: string;
  metric: string;
  metrics: string[];
  bar: WireNumber;
  falls: boolean;
  /** The origin of the bar. */
  reason: string;
  steps: number[];
  total: number;
  offset: number;
  prompts: PromptScores[];
  /** Number of prompts by verdict; `unbeaten` counts those without an answer that beat its reference. */
  counts: Record<string, number>;
  /** Training prompts that appear at only one step; the grid leaves them out. */
  once: number;
}

/**
 * A row of the grid: `n` answers and `c` correct ones at each step, -1 and 0 for a step without the prompt.
 *
 * `beat` is true if any answer had a higher reward than its own reference, None without a reference.
 */
export interface PromptScores {
  name: string;
  prompt: string;
  verdict: "always" | "lost" | "mixed" | "never" | "solved";
  n: number[];
  c: number[];
  beat: boolean | null;
}

/** The answers to a prompt at a step, graded. */
export interface AnswerQuery {
  /** The split, such as train. */
  split: string;
  /** The step. */
  step: number;
  /** The prompt, by the name that other answers have for it. */
  prompt: string;
  /** The sample metric that grades answers. Default: the run's own. */
  metric?: string | undefined;
  /** The threshold of a correct answer. Default: the run's own. */
  bar?: number | null | undefined;
}

/** The samples of a cell of the grid. */
export interface CellAnswers {
  run: string;
  version: string;
  answers: Answer[];
}

/** A sample of a cell; `correct` is None without a finite value. */
export interface Answer {
  id: string;
  value: WireNumber;
  correct: boolean | null;
  discarded: string;
  status: string;
  /** The start of the response. */
  preview: string;
}

/** The samples of a prompt at a step. */
export interface PromptSampleQuery {
  /** The split, such as train. */
  split: string;
  /** The step. */
  step: number;
  /** The prompt, by the name that other answers have for it. */
  prompt: string;
}

/** The samples of a prompt at a step. */
export interface PromptSamples {
  run: string;
  version: string;
  samples: PromptSample[];
}

/** A sample of a prompt. */
export interface PromptSample {
  id: string;
  reward: WireNumber;
  advantage: WireNumber;
  response_tokens: number | null;
  status: string;
  discarded: string;
  /** The start of the response. */
  preview: string;
}

/** How the answers to one prompt changed: the steps where it appears, with its best and its worst sample. */
export interface PromptQuery {
  /** A sample with the prompt. */
  id?: string | undefined;
  /** The name of the prompt, instead of a sample. */
  prompt?: string | undefined;
}

/** Where the run answers one prompt, by split and step. */
export interface PromptLife {
  run: string;
  version: string;
  /** Identifies the prompt in every run. */
  prompt: string;
  /** Its start. */
  text: string;
  steps: PromptStep[];
  /** True if not all steps are listed. */
  is_cut: boolean;
}

/** The answers to a prompt at a step. */
export interface PromptStep {
  split: string;
  step: number;
  samples: number;
  groups: number;
  /** How many of the samples were discarded; the mean is over all. */
  discarded: number;
  reward_mean: WireNumber;
  reward_std: WireNumber;
  /** Mean over the samples that have one. */
  response_tokens: WireNumber;
  /** The sample with the greatest reward; empty if none has a finite one. */
  best: string;
  /** The sample with the least reward. */
  worst: string;
  /** The samples in file order; of many, the first. */
  ids: string[];
}

/** Sample metrics at one step, with histograms and the values of its samples. */
export interface StepValueQuery {
  /** The split, such as train. */
  split: string;
  /** The step. */
  step: number;
  /** Metrics with a histogram and a value for each sample. */
  names?: string[] | undefined;
  /** Metrics whose statistics alone are wanted. */
  also?: string[] | undefined;
}

/** Sample metrics at one step of one split. */
export interface StepValues {
  run: string;
  version: string;
  split: string;
  step: number;
  /** The previous step that has samples. */
  before: number | null;
  /** The bins of all histograms: bin `i` holds the values from `edges[i]` up to, not including, `edges[i + 1]`. */
  edges: number[];
  metrics: MetricAtStep[];
  /** The first samples that were trained on; those of a group stand together. */
  samples: StepSample[];
  /** The number of all samples that were trained on. */
  total: number;
}

/** A sample metric at a step, over the trained samples with a finite value. */
export interface MetricAtStep {
  name: string;
  stats: Stats;
  /** At the step before; None at the first step that has values. */
  before: Stats | null;
  /** The number of samples in each bin; empty for a metric without a histogram. */
  counts: number[];
}

/** Statistics of the finite values: count, mean, population standard deviation, extremes; `excluded` had none. */
export interface Stats {
  count: number;
  mean: WireNumber;
  std: WireNumber;
  min: WireNumber;
  max: WireNumber;
  excluded: number;
}

/** A sample of the step, with its values of the requested metrics in their order; None for a text. */
export interface StepSample {
  id: string;
  group: string;
  values: WireNumber[];
}

/** The token series that samples of a run have. */
export interface TokenSeriesQuery {
  /** The first step. */
  step_min?: number | null | undefined;
  /** The last step, inclusive. */
  step_max?: number | null | undefined;
  /** One split. Default: all. */
  split?: string | undefined;
  /** One step instead of several. */
  step?: number | null | undefined;
}

/** The series that the index knows, in the order of the samples. */
export interface RunTokenSeries {
  run: string;
  version: string;
  series: RunSeries[];
  coverage: TokenCoverage;
}

/** A token series that samples of the run have. */
export interface RunSeries {
  name: string;
  title: string;
  about: string;
  scale: "linear" | "log" | "symmetric";
  /** The largest finite value. */
  high: WireNumber;
}

/** The samples that an answer about tokens covers. */
export interface TokenCoverage {
  /** The number of samples in scope. */
  samples: number;
  /** How many of them the pass over tokens has not reached: the answer lacks their tokens. */
  pending: number;
  /** How many samples in these files have tokens that could not be read. */
  unread: number;
}

/** A token series at each step that has values. */
export interface TokenStepQuery {
  /** The first step. */
  step_min?: number | null | undefined;
  /** The last step, inclusive. */
  step_max?: number | null | undefined;
  /** One split. Default: all. */
  split?: string | undefined;
  /** One step instead of several. */
  step?: number | null | undefined;
  /** The token series, such as logprobs. */
  series: string;
}

/** A series at each step that has values, over finite values. */
export interface RunTokenSteps {
  run: string;
  version: string;
  series: string;
  steps: number[];
  tokens: number[];
  /** How many tokens have an infinite value. */
  infinite: number[];
  /** How many samples have a value. */
  samples: number[];
  /** Over all tokens. */
  mean: WireNumber[];
  /** The mean of the means of the samples. */
  sample_mean: WireNumber[];
  min: WireNumber[];
  max: WireNumber[];
  /** A percentile is at most 0.8% from the true one. */
  p10: WireNumber[];
  p50: WireNumber[];
  p90: WireNumber[];
  coverage: TokenCoverage;
}

/** The mean of a token series by position at one step. */
export interface TokenPositionQuery {
  /** One split. Default: all. */
  split?: string | undefined;
  /** The step. */
  step: number;
  /** The token series, such as logprobs. */
  series: string;
}

/**
 * The mean of a series by position at one step.
 *
 * A position is how many trained tokens of the sample come before. The first 64 have a bucket each; later buckets grow
 * with the position.
 */
export interface RunTokenPositions {
  run: string;
  version: string;
  series: string;
  step: number;
  /** The first position of each bucket. */
  first: number[];
  tokens: number[];
  /** Null for a bucket without tokens. */
  means: WireNumber[];
  coverage: TokenCoverage;
}

/** What each rule takes out of the loss, by step. */
export interface TokenMaskQuery {
  /** The first step. */
  step_min?: number | null | undefined;
  /** The last step, inclusive. */
  step_max?: number | null | undefined;
  /** One split. Default: all. */
  split?: string | undefined;
  /** One step instead of several. */
  step?: number | null | undefined;
}

/** Each rule that the series suffice for, what was recorded first. */
export interface RunTokenMasks {
  run: string;
  version: string;
  rules: MaskSteps[];
  coverage: TokenCoverage;
}

/** What a rule takes out, by step, as shares of the trained tokens. */
export interface MaskSteps {
  /** `recorded` for what the trainer recorded. */
  rule: string;
  title: string;
  /** The thresholds behind these shares; none for `recorded`. */
  thresholds: Record<string, number>;
  /** True if the run was trained with the rule. */
  is_of_run: boolean;
  steps: number[];
  tokens: number[];
  masked: number[];
  /** Masked because they moved up too far. */
  high: number[];
  low: number[];
  /** The share of the update that the rule masks or clips; null if nothing is known to be pushed. */
  update_lost: WireNumber[];
}

/** Words with most KL, or the most frequent. */
export interface TokenWordQuery {
  /** The first step. */
  step_min?: number | null | undefined;
  /** The last step, inclusive. */
  step_max?: number | null | undefined;
  /** One split. Default: all. */
  split?: string | undefined;
  /** One step instead of several. */
  step?: number | null | undefined;
  /** kl for the words with most KL, tokens for the most frequent. */
  by?: string | undefined;
  /** The maximum number of words. */
  limit?: number | undefined;
}

/** Words with most KL, or the most frequent. */
export interface RunTokenWords {
  run: string;
  version: string;
  words: Word[];
  /** The series that is summed; empty if the samples have no KL. */
  kl: string;
  /** How many trained tokens have a word. */
  tokens: number;
  /** How many of them are tokens of words that the index kept. */
  listed: number;
  coverage: TokenCoverage;
}

/** The trained tokens that are one word. */
export interface Word {
  /** The token string as text; for an id without a tokenizer, the id in digits. */
  text: string;
  /** None if the record holds strings. */
  token_id: number | null;
  tokens: number;
  /** The sum of their KL. */
  kl: WireNumber;
  /** The mean of their KL; null if none has one. */
  mean_kl: WireNumber;
  /** How many of them have a KL. */
  with_kl: number;
  /** The mean of their probabilities at sampling; null if none has one. */
  probability: WireNumber;
  /** False if some of its tokens may be missing. */
  is_exact: boolean;
}

/** Words that gain and lose most between two steps. */
export interface TokenChangeQuery {
  /** The split, such as train. */
  split: string;
  /** One step. */
  before: number;
  /** The other step. */
  after: number;
  /** probability, or share of all tokens. */
  by?: string | undefined;
  /** The minimum number of tokens of a word. */
  min_tokens?: number | undefined;
  /** The maximum number of words on either side. */
  limit?: number | undefined;
}

/** Words that gain and lose most. */
export interface RunTokenChanges {
  run: string;
  version: string;
  /** How many trained tokens either step has. */
  tokens: number[];
  gained: ChangedWord[];
  lost: ChangedWord[];
  compared: number;
  /** How many words are frequent at one of the steps, but too rare for the index at the other. */
  unknown: number;
  /** How often a word must be a token to be compared. */
  min_tokens: number;
  coverage: TokenCoverage;
}

/** A word at two steps. */
export interface ChangedWord {
  before: Word;
  after: Word;
  change: number;
}

/** The tokens with the most extreme values of a series. */
export interface WorstTokenQuery {
  /** The first step. */
  step_min?: number | null | undefined;
  /** The last step, inclusive. */
  step_max?: number | null | undefined;
  /** One split. Default: all. */
  split?: string | undefined;
  /** One step instead of several. */
  step?: number | null | undefined;
  /** Only samples of this group. */
  group?: string | null | undefined;
  /** A filter: only samples that match it. */
  where?: string | undefined;
  /** The token series, such as logprobs. */
  series: string;
  /** The highest values, or the lowest. */
  side?: "high" | "low" | undefined;
  /** The maximum number of tokens. */
  limit?: number | undefined;
}

/** The worst tokens of a group, a step or a run, the worst first. */
export interface RunWorstTokens {
  run: string;
  version: string;
  series: string;
  tokens: ShownToken[];
  coverage: TokenCoverage;
}

/** A token with one of the most extreme values of a series. */
export interface ShownToken {
  value: WireNumber;
  /** The sample. */
  id: string;
  /** Its place among all tokens of the sample. */
  token: number;
  /** The token string as text; null if neither the record nor a tokenizer tells. */
  text: string | null;
  token_id: number | null;
}

/** The columns that every sample has: see src/rolloupe/model.py. */
export const COLUMNS = [
  {"name": "split", "label": "Split", "short": "", "unit": ""},
  {"name": "step", "label": "Step", "short": "", "unit": ""},
  {"name": "group", "label": "Group", "short": "", "unit": ""},
  {"name": "index", "label": "Index", "short": "", "unit": ""},
  {"name": "uid", "label": "Id", "short": "", "unit": ""},
  {"name": "reward", "label": "Reward", "short": "", "unit": ""},
  {"name": "advantage", "label": "Advantage", "short": "", "unit": ""},
  {"name": "status", "label": "Status", "short": "", "unit": ""},
  {"name": "turns", "label": "Turns", "short": "", "unit": ""},
  {"name": "prompt_tokens", "label": "Prompt tokens", "short": "prompt", "unit": "tokens"},
  {"name": "response_tokens", "label": "Response tokens", "short": "tokens", "unit": "tokens"},
  {"name": "total_tokens", "label": "Tokens", "short": "in all", "unit": "tokens"},
  {"name": "response_chars", "label": "Characters", "short": "characters", "unit": "characters"},
  {"name": "env", "label": "Environment", "short": "", "unit": ""},
  {"name": "discarded", "label": "Discarded", "short": "", "unit": ""},
  {"name": "prompt", "label": "Prompt", "short": "", "unit": ""},
  {"name": "response", "label": "Response", "short": "", "unit": ""},
  {"name": "cause", "label": "Ended by", "short": "", "unit": ""},
] as const;
