/** The name of the tab: what is looked at. */

import { effect } from "@preact/signals";
import { harmless } from "../lib/visible";
import { place } from "../state/place";
import { run } from "../state/runs";

const PAGES: Record<string, string> = {
  settings: "Settings", bookmarks: "Bookmarks", evals: "Evals", problems: "Problems", search: "Search", report: "Report", run: "Run",
};

export function startTitle(): void {
  effect(() => {
    const { page, step, split } = place.value;
    const words = [run.value?.name, PAGES[page] ?? (page === "rollouts" && step !== null ? `${split} ${step}` : undefined), "Rolloupe"];
    document.title = words.filter((word) => word !== undefined).map(harmless).join(" · ");
  });
}
