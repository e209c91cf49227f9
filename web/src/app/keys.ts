/** What can be done on the page: the one list behind the keys, the map of keys and the palette. `lib/keymap.ts` has the words. */

import { actionOf, type Action, KEYS } from "../lib/keymap";
import { isOurs, openFind } from "../features/sample/find";
import { turnFolds } from "../features/sample/folds";
import { exportOpen } from "../features/export/exporting";
import { FILTER_ID } from "../features/list/FilterField";
import { helpOpen } from "../features/help/help";
import { openNote, toggleBookmark } from "../features/marks/marking";
import { SEARCH_ID } from "../features/search/SearchForm";
import { paletteOpen } from "../features/palette/palette";
import { type Doing, doings } from "../state/actions";
import { goMember } from "../state/group";
import { toggleFollowing } from "../state/live";
import { goOn } from "../state/list";
import { go, place } from "../state/place";
import { choose, settings } from "../state/settings";
import { isLocked } from "../state/session";
import { turnTheme } from "../state/settings";
import { goBy, lastStep, steps } from "../state/steps";
import { isWide } from "../state/view";
import { copyLink } from "../ui/link";
import { NARROW } from "../ui/useMatch";

/** What takes keys for itself. */
const FIELDS = "input:not([type=checkbox]), textarea, select, [contenteditable]";

const DO: Record<Action, () => void> = {
  nextSample: () => goBeside(1),
  previousSample: () => goBeside(-1),
  nextStep: () => goBy(1),
  previousStep: () => goBy(-1),
  firstStep: () => goStep(steps.peek()?.steps[0] ?? null),
  lastStep: () => goStep(lastStep.peek()),
  raw: () => go({ view: place.peek().view === "raw" ? "transcript" : "raw" }),
  group: () => go({ view: place.peek().view === "group" ? "transcript" : "group" }),
  difference: () => go({ view: "group", isTable: false, isDiff: place.peek().view !== "group" || !place.peek().isDiff }),
  find: openFind,
  expand: turnFolds,
  follow: toggleFollowing,
  filter: toFilter,
  search: toSearch,
  link: () => void copyLink(),
  bookmark: toggleBookmark,
  note: openNote,
  export: () => {
    exportOpen.value = "samples";
  },
  theme: turnTheme,
  palette: () => {
    paletteOpen.value = !paletteOpen.peek();
  },
  help: () => {
    helpOpen.value = true;
  },
};

/** What is done on every page. */
const EVERYWHERE: ReadonlySet<Action> = new Set(["help", "palette", "theme", "link", "search"]);
/** What keys do on a report, too, which is of a step. */
const STEPPING: ReadonlySet<Action> = new Set(["nextStep", "previousStep", "firstStep", "lastStep"]);

/** What is of the turns of one sample. */
const OF_ONE: ReadonlySet<Action> = new Set(["find", "expand"]);

function can(action: Action): boolean {
  const { page, view } = place.peek();
  if (page === "rollouts" && view === "group" && OF_ONE.has(action)) return false;
  return EVERYWHERE.has(action) || page === "rollouts" || (page === "report" && STEPPING.has(action));
}

/** What shows or changes the sample: a table that covers it, or a list on a narrow screen, makes room first. */
const OF_SAMPLE: ReadonlySet<Action> = new Set(["raw", "group", "difference", "find", "expand", "bookmark", "note"]);

/** Do what a key does, where it can be seen. A view that was there already, and covered, is not turned off. */
function act(action: Action): void {
  const isUncovered = OF_SAMPLE.has(action) && showSample();
  if (!isUncovered || action !== place.peek().view) DO[action]();
}

/** Make room for the sample. True where something covered it. */
function showSample(): boolean {
  const { sample, mode, list } = place.peek();
  if (sample === null) return false;
  const isUnderTable = mode === "table" && isWide.peek() && settings.peek().leftOpen;
  const isUnderList = list && matchMedia(NARROW).matches;
  if (mode === "table") isWide.value = false;
  if (isUnderList) go({ list: false });
  return isUnderTable || isUnderList;
}

/** The next sample: of the list, or where a group stands side by side the next column, and from its end on of the list. */
function goBeside(by: number): void {
  if (place.peek().view !== "group" || !goMember(by)) void goOn(by);
}

/** The field of the filter, with the list in view. */
function toFilter(): void {
  if (!settings.peek().leftOpen) choose({ leftOpen: true });
  if (!place.peek().list && matchMedia(NARROW).matches) go({ list: true }, "replace");
  toField(FILTER_ID);
}

/** The field of the search, on its page. */
function toSearch(): void {
  if (place.peek().page !== "search") go({ page: "search", list: false });
  toField(SEARCH_ID, (field) => field.select());
}

/** Go to a field once what was just changed is drawn, and before the next key, which is the field's. */
function toField(id: string, then?: (field: HTMLInputElement) => void): void {
  queueMicrotask(() => {
    const field = document.querySelector<HTMLInputElement>(`#${id}`);
    field?.focus();
    if (field !== null) then?.(field);
  });
}

function goStep(step: number | null): void {
  if (step !== null && step !== place.peek().step) go({ step });
}

/** The browser's own find, which is left to it as long as it finds all there is. */
function isBrowserFind(event: KeyboardEvent): boolean {
  return event.key === "f" && (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey;
}

export function startKeys(): void {
  doings.value = KEYS.map(({ action, words, label }): Doing => ({ action, words, label, can: () => can(action), act: () => act(action) }));
  addEventListener("keydown", (event) => {
    if (isBrowserFind(event) && isOurs.peek() && can("find") && !isLocked.peek() && !helpOpen.peek()) {
      event.preventDefault();
      act("find");
      return;
    }
    const action = actionOf(event);
    if (action === null || event.defaultPrevented || isLocked.peek()) return;
    const isOver = helpOpen.peek() || paletteOpen.peek() || document.querySelector("dialog[open]") !== null;
    if (action === "palette" ? isOver && !paletteOpen.peek() : isOver) return;
    const isInField = event.target instanceof Element && event.target.closest(FIELDS) !== null;
    if ((isInField && action !== "palette") || !can(action)) return;
    event.preventDefault();
    act(action);
  });
}
