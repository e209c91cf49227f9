/** Keys pressed anywhere but in a field: what `lib/keymap.ts` lists, done. */

import { actionOf, type Action } from "../lib/keymap";
import { turnFolds } from "../features/sample/folds";
import { FILTER_ID } from "../features/list/FilterField";
import { helpOpen } from "../features/help/help";
import { toggleFollowing } from "../state/live";
import { goOn } from "../state/list";
import { go, place } from "../state/place";
import { choose, settings } from "../state/settings";
import { isLocked } from "../state/session";
import { goBy, lastStep, steps } from "../state/steps";
import { say } from "../ui/said";
import { copy } from "../ui/clipboard";

/** Where the list takes the place of the sample. */
const NARROW = "(max-width: 520px)";
const FIELDS = "input, textarea, select, [contenteditable]";

const DO: Record<Action, () => void> = {
  nextSample: () => void goOn(1),
  previousSample: () => void goOn(-1),
  nextStep: () => goBy(1),
  previousStep: () => goBy(-1),
  firstStep: () => goStep(steps.peek()?.steps[0] ?? null),
  lastStep: () => goStep(lastStep.peek()),
  raw: () => go({ view: place.peek().view === "raw" ? "transcript" : "raw" }),
  expand: turnFolds,
  follow: toggleFollowing,
  filter: toFilter,
  link: () => void copyLink(),
  help: () => {
    helpOpen.value = true;
  },
};

/** What keys do on a report, too, which is of a step. */
const STEPPING: ReadonlySet<Action> = new Set(["nextStep", "previousStep", "firstStep", "lastStep"]);

/** The field of the filter, with the list in view. */
function toFilter(): void {
  if (!settings.peek().leftOpen) choose({ leftOpen: true });
  if (!place.peek().list && matchMedia(NARROW).matches) go({ list: true }, "replace");
  requestAnimationFrame(() => document.querySelector<HTMLElement>(`#${FILTER_ID}`)?.focus());
}

function goStep(step: number | null): void {
  if (step !== null && step !== place.peek().step) go({ step });
}

async function copyLink(): Promise<void> {
  say((await copy(location.href)) ? "Link copied" : "The browser did not allow copying");
}

export function startKeys(): void {
  addEventListener("keydown", (event) => {
    const action = actionOf(event);
    if (action === null || event.defaultPrevented || isLocked.peek() || helpOpen.peek()) return;
    if (event.target instanceof Element && event.target.closest(`${FIELDS}, [role="separator"]`) !== null) return;
    const { page } = place.peek();
    if (action !== "help" && page !== "rollouts" && !(page === "report" && STEPPING.has(action))) return;
    event.preventDefault();
    DO[action]();
  });
}
