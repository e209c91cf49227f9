/** How a sample is shown, and how many steps a list covers: their form in addresses. */

import type { Page } from "./pages";

export type View = "transcript" | "tokens" | "text" | "raw" | "group";
/** The steps of the list: the current one, the whole split, or a range from first to last. */
export type Extent = "step" | "run" | readonly [number | null, number | null];

const VIEWS: readonly View[] = ["transcript", "tokens", "text", "raw", "group"];

export const viewIn = (params: URLSearchParams): View =>
  VIEWS.find((view) => view === params.get("view")) ?? "transcript";

/** People search the run, and read the samples of a step. */
export function extentBeside({ page, extent }: { page: Page; extent: Extent }, to: Page): Extent {
  if (to === "search") return extent === "step" ? "run" : extent;
  return page === "search" && extent === "run" ? "step" : extent;
}
