/** Keys pressed anywhere but in a field: what `lib/keymap.ts` lists, done. */

import { actionOf, type Action } from "../lib/keymap";
import { isOurs, openFind } from "../features/sample/find";
import { turnFolds } from "../features/sample/folds";
import { helpOpen } from "../features/help/help";
import { toggleFollowing } from "../state/live";
import { goOn } from "../state/list";
import { go, place } from "../state/place";
import { isLocked } from "../state/session";
import { goBy, lastStep, steps } from "../state/steps";
import { say } from "../ui/said";
import { copy } from "../ui/clipboard";

const FIELDS = "input, textarea, select, [contenteditable]";

const DO: Record<Action, () => void> = {
  nextSample: () => void goOn(1),
  previousSample: () => void goOn(-1),
  nextStep: () => goBy(1),
  previousStep: () => goBy(-1),
  firstStep: () => goStep(steps.peek()?.steps[0] ?? null),
  lastStep: () => goStep(lastStep.peek()),
  raw: () => go({ view: place.peek().view === "raw" ? "transcript" : "raw" }),
  find: openFind,
  expand: turnFolds,
  follow: toggleFollowing,
  link: () => void copyLink(),
  help: () => {
    helpOpen.value = true;
  },
};

/** What keys do on a report, too, which is of a step. */
const STEPPING: ReadonlySet<Action> = new Set(["nextStep", "previousStep", "firstStep", "lastStep"]);

function goStep(step: number | null): void {
  if (step !== null && step !== place.peek().step) go({ step });
}

async function copyLink(): Promise<void> {
  say((await copy(location.href)) ? "Link copied" : "The browser did not allow copying");
}

/** The browser's own find, which is left to it as long as it finds all there is. */
function isBrowserFind(event: KeyboardEvent): boolean {
  return event.key === "f" && (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey;
}

export function startKeys(): void {
  addEventListener("keydown", (event) => {
    if (isBrowserFind(event) && isOurs.peek() && place.peek().page === "rollouts" && !isLocked.peek() && !helpOpen.peek()) {
      event.preventDefault();
      openFind();
      return;
    }
    const action = actionOf(event);
    if (action === null || event.defaultPrevented || isLocked.peek() || helpOpen.peek()) return;
    if (event.target instanceof Element && event.target.closest(`${FIELDS}, [role="separator"]`) !== null) return;
    const { page } = place.peek();
    if (action !== "help" && page !== "rollouts" && !(page === "report" && STEPPING.has(action))) return;
    event.preventDefault();
    DO[action]();
  });
}
