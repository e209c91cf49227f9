/** The pages of the app, as addresses name them. */

export type Page =
  | "runs"
  | "rollouts"
  | "metrics"
  | "findings"
  | "evals"
  | "tokens"
  | "compare"
  | "problems"
  | "report"
  | "run"
  | "search"
  | "bookmarks"
  | "settings";

/** Pages of a run other than its rollouts, by the last part of their address. */
export const BESIDE: readonly Page[] = [
  "metrics",
  "findings",
  "evals",
  "tokens",
  "compare",
  "problems",
  "report",
  "run",
];

/** Pages about all runs; their address remembers the current run. */
export const ABOVE: readonly Page[] = ["settings", "bookmarks"];

/** The names of the options of a page, which its address holds. */
export const ASKED: Partial<Record<Page, readonly string[]>> = {
  runs: ["curve", "value", "rows"],
  rollouts: ["ema"],
  metrics: [
    "by",
    "off",
    "map",
    "find",
    "ema",
    "log",
    "band",
    "marks",
    "outliers",
    "first",
    "last",
    "zero",
    "x",
    "zoom",
    "view",
    "of",
    "beside",
    "curve",
  ],
  findings: ["of", "from", "to", "env", "correct", "finding"],
  evals: ["metric", "bar", "k", "only", "by", "of", "prompt", "from", "to"],
  compare: ["keys", "key", "left", "right", "order", "same"],
  tokens: ["series", "mean", "strings", "before", "compare", "least", "side"],
};

const STEPPED: ReadonlySet<Page> = new Set(["rollouts", "metrics", "tokens", "compare", "report"]);

/** True for a page about a step of a split. */
export const hasStep = (page: Page): boolean => STEPPED.has(page);
