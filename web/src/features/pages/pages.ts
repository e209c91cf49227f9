/** The pages of the app, in the order of the rail: their names, and whether they are available. */

import type { Session } from "../../state/session";
import type { Page } from "../../lib/address/address";
import { count } from "../../lib/numbers/numbers";
import { runs } from "../../state/runs";
import type { Sign } from "../../ui/controls/Icon";

export interface PageEntry {
  page: Page;
  /** True for discarded samples, which the rollouts page shows, too. */
  discarded?: boolean;
  sign: Sign;
  label: string;
  /** Its content. */
  more: string;
  /** The count at its icon, 0 for none. */
  badge?: number;
  /** True if the run has nothing for it. */
  isEmpty?: boolean;
}

/** The title of pages without a run. */
export const PAGE_TITLES: Partial<Record<Page, string>> = {
  settings: "Settings",
  search: "Search",
  bookmarks: "Bookmarks",
};

/** The name of the page of evaluations, which has training prompts, too: a run without evaluations has nothing else. */
export function evalsName(session: Session): string {
  const splits = session.run.now.value?.splits ?? [];
  return splits.length === 0 || splits.some(({ name }) => name.startsWith("eval")) ? "Evals" : "Prompts";
}

/** Pages of a run are available only with a current run. */
export function pages(session: Session): PageEntry[] {
  const problems = session.run.now.value?.problems ?? 0;
  const splits = session.run.now.value?.splits ?? [];
  const suspects = session.findings.suspects.value;
  const others = (runs.value ?? []).length - 1;
  const mayReport = session.run.now.value?.may_report ?? true;
  const hasDiscarded = splits.some(({ discarded }) => discarded !== 0);
  const hasEvals = evalsName(session) === "Evals";
  const ofRun: PageEntry[] = [
    { page: "rollouts", sign: "rollouts", label: "Rollouts", more: "what the model wrote" },
    {
      page: "rollouts",
      discarded: true,
      sign: "discarded",
      label: "Discarded",
      more: hasDiscarded ? "samples that were not trained on" : "none",
      isEmpty: !hasDiscarded,
    },
    { page: "metrics", sign: "charts", label: "Metrics", more: "curves of the run, and what stands out in them (m)" },
    {
      page: "findings",
      sign: "findings",
      label: "Findings",
      more: suspects === 0 ? "what the reward pays for" : `what the reward pays for: ${count(suspects, "suspect")}`,
      badge: suspects,
      isEmpty: splits.length === 0,
    },
    {
      page: "evals",
      sign: "evals",
      label: evalsName(session),
      more: hasEvals ? "by step and prompt" : "training prompts that appear again, by step",
      isEmpty: splits.length === 0,
    },
    { page: "tokens", sign: "tokens", label: "Tokens", more: "of the run: by step, position, rule and string" },
    {
      page: "compare",
      sign: "compare",
      label: "Compare",
      more: others > 0 ? "configurations, code and answers of several runs (c)" : "needs a second run",
      isEmpty: others === 0,
    },
    {
      page: "report",
      sign: "report",
      label: "Report",
      more: mayReport ? "what the trainer logged for the step" : "none",
      isEmpty: !mayReport,
    },
    { page: "run", sign: "run", label: "Run", more: "configuration, checkpoints, code, files" },
    {
      page: "problems",
      sign: "problems",
      label: "Unreadable",
      more: problems === 0 ? "none" : count(problems, "record"),
      badge: problems,
      isEmpty: problems === 0,
    },
  ];
  return [
    ...(session.place.now.value.run === null ? [] : ofRun),
    { page: "search", sign: "search", label: "Search", more: "find in texts (/)" },
    { page: "bookmarks", sign: "bookmark", label: "Bookmarks", more: "bookmarks and notes" },
    { page: "settings", sign: "settings", label: "Settings", more: "colours, reading, cache" },
  ];
}
