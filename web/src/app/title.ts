/** The title of the tab. */

import type { Session } from "../state/session";
import { evalsName } from "../features/pages";
import { harmless } from "../lib/text/invisible";

const PAGES: Record<string, string> = {
  settings: "Settings",
  bookmarks: "Bookmarks",
  metrics: "Metrics",
  findings: "Findings",
  tokens: "Tokens",
  compare: "Compare",
  problems: "Unreadable records",
  search: "Search",
  report: "Report",
  run: "Run",
};

export function startTitle(session: Session): void {
  session.effect(() => {
    const { page, step, split } = session.place.now.value;
    const words = [
      session.run.now.value?.name,
      (page === "evals" ? evalsName(session) : PAGES[page]) ??
        (page === "rollouts" && step !== null ? `${split} ${step}` : undefined),
      "Rolloupe",
    ];
    document.title = words
      .filter((word) => word !== undefined)
      .map(harmless)
      .join(" · ");
  });
}
