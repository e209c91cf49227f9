/** The keys of the page, and what each does in words. `src/app/keys.ts` says where they apply. */

export type TokenAction =
  | "enterTokens"
  | "nextWorst"
  | "previousWorst"
  | "form"
  | "nextSeries"
  | "previousSeries"
  | "saveTokens"
  | "copyTokens";

export type Action =
  | TokenAction
  | "nextSample"
  | "previousSample"
  | "nextStep"
  | "previousStep"
  | "firstStep"
  | "nextOfPrompt"
  | "previousOfPrompt"
  | "thenAndNow"
  | "lastStep"
  | "tokens"
  | "raw"
  | "verbatim"
  | "worst"
  | "group"
  | "difference"
  | "find"
  | "expand"
  | "follow"
  | "filter"
  | "search"
  | "metrics"
  | "compare"
  | "link"
  | "bookmark"
  | "note"
  | "judge"
  | "judgeGood"
  | "judgeBad"
  | "judgeNone"
  | "checkReward"
  | "palette"
  | "share"
  | "report"
  | "export"
  | "theme"
  | "help";

export interface Key<Of extends Action = Action> {
  action: Of;
  /** The values of `KeyboardEvent.key`; empty for an action that can only be found by name. */
  keys: readonly string[];
  /** As printed on the key; empty without a key. */
  label: string;
  words: string;
}

/** Keys of the view Tokens, with the same letters as in the terminal. */
export const TOKEN_KEYS: readonly Key<TokenAction>[] = [
  { action: "enterTokens", keys: ["i"], label: "i", words: "enter the tokens: arrow keys move between them" },
  { action: "nextWorst", keys: ["w"], label: "w", words: "next of the worst tokens" },
  { action: "previousWorst", keys: ["W"], label: "W", words: "previous of the worst tokens" },
  { action: "nextSeries", keys: ["x"], label: "x", words: "colour tokens by the next series" },
  { action: "previousSeries", keys: ["X"], label: "X", words: "colour tokens by the previous series" },
  { action: "form", keys: ["u"], label: "u", words: "tokens as text, as a table, or with their update" },
  { action: "saveTokens", keys: [], label: "", words: "save all tokens of the sample as CSV" },
  { action: "copyTokens", keys: [], label: "", words: "copy all tokens of the sample as TSV, for a spreadsheet" },
];

export const KEYS: readonly Key[] = [
  { action: "previousSample", keys: ["ArrowLeft"], label: "←", words: "previous sample" },
  { action: "nextSample", keys: ["ArrowRight"], label: "→", words: "next sample" },
  { action: "previousStep", keys: ["["], label: "[", words: "previous step" },
  { action: "nextStep", keys: ["]"], label: "]", words: "next step" },
  { action: "firstStep", keys: ["g"], label: "g", words: "first step" },
  { action: "lastStep", keys: ["G"], label: "G", words: "last step" },
  {
    action: "previousOfPrompt",
    keys: ["{"],
    label: "{",
    words: "the same prompt at the previous step where it appears",
  },
  { action: "nextOfPrompt", keys: ["}"], label: "}", words: "the same prompt at the next step where it appears" },
  {
    action: "thenAndNow",
    keys: ["p"],
    label: "p",
    words: "the prompt's best answer at its first step beside that at its last",
  },
  { action: "tokens", keys: ["t"], label: "t", words: "transcript or tokens" },
  { action: "raw", keys: ["r"], label: "r", words: "transcript or raw record" },
  { action: "worst", keys: ["z"], label: "z", words: "the worst sample: lowest rewards first" },
  { action: "verbatim", keys: ["o"], label: "o", words: "texts as they are written, or rendered" },
  { action: "group", keys: ["v"], label: "v", words: "samples of the group side by side, or one alone" },
  { action: "difference", keys: ["d"], label: "d", words: "words that differ between two samples of a group" },
  { action: "find", keys: ["F"], label: "F", words: "find in the sample" },
  { action: "expand", keys: ["e"], label: "e", words: "expand or collapse all" },
  { action: "follow", keys: ["l"], label: "l", words: "follow the run, or stop" },
  { action: "search", keys: ["/"], label: "/", words: "search the texts of the step, the run, or all runs" },
  { action: "metrics", keys: ["m"], label: "m", words: "metrics of the run, or its rollouts" },
  { action: "compare", keys: ["c"], label: "c", words: "compare runs, or back to the rollouts" },
  { action: "filter", keys: ["f"], label: "f", words: "filter the list" },
  { action: "link", keys: ["y"], label: "y", words: "copy a link to this" },
  { action: "bookmark", keys: ["b"], label: "b", words: "bookmark this sample, or not" },
  { action: "note", keys: ["n"], label: "n", words: "write a note on this sample" },
  { action: "judgeGood", keys: ["1"], label: "1", words: "judge this sample good" },
  { action: "judgeBad", keys: ["2"], label: "2", words: "judge this sample bad" },
  { action: "judgeNone", keys: ["0"], label: "0", words: "clear the judgement, or skip the sample" },
  { action: "judge", keys: ["j"], label: "j", words: "judge samples one after another, or stop" },
  { action: "checkReward", keys: ["J"], label: "J", words: "check the reward: judge ten samples without seeing it" },
  { action: "share", keys: ["s"], label: "s", words: "share this sample: as a report in one file, or by a link" },
  { action: "report", keys: [], label: "", words: "report of the samples of the list: one file of HTML to mail" },
  { action: "export", keys: [], label: "", words: "export the samples of the list: JSON lines, Parquet, CSV, Python" },
  { action: "theme", keys: [], label: "", words: "light or dark" },
  { action: "palette", keys: [], label: "Ctrl K", words: "find anything by name" },
  { action: "help", keys: ["?"], label: "?", words: "these keys" },
  ...TOKEN_KEYS,
];

/** Keys that lists use for themselves while they have the focus. */
export const LIST_KEYS: readonly { label: string; words: string }[] = [
  { label: "↑", words: "one up" },
  { label: "↓", words: "one down" },
  { label: "PgUp", words: "a page up" },
  { label: "PgDn", words: "a page down" },
  { label: "Home", words: "to the first" },
  { label: "End", words: "to the last" },
];

/** Keys of the tokens while they have the focus. */
export const FOCUSED_TOKEN_KEYS: readonly { label: string; words: string }[] = [
  { label: "← →", words: "the token before, the token after" },
  { label: "↑ ↓", words: "the token above, the token below" },
  { label: "Esc", words: "deselect the token; again: leave the tokens" },
];

/** Keys on the page of metrics, while a chart has the focus. */
export const CHART_KEYS: readonly { label: string; words: string }[] = [
  { label: "Alt ←", words: "move the chart back" },
  { label: "Alt →", words: "move the chart forward" },
];

/**
 * The action of a pressed key; null for none. Keys with Ctrl, Alt or Meta belong to the browser, except for signs: many
 * keyboards type brackets with AltGr (Ctrl and Alt on Windows) or Option.
 */
export function actionOf(event: { key: string; ctrlKey: boolean; altKey: boolean; metaKey: boolean }): Action | null {
  if (event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey) && !event.altKey) return "palette";
  const isSign = event.key.length === 1 && !/[\p{L}\p{N}]/u.test(event.key);
  const isTyped = isSign && event.altKey && !event.metaKey;
  if (!isTyped && (event.ctrlKey || event.altKey || event.metaKey)) return null;
  return KEYS.find((key) => key.keys.includes(event.key))?.action ?? null;
}
