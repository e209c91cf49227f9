/** All actions of the page: one list for the keys, the map of keys and the palette. `lib/keymap.ts` has the words. */

import type { Session } from "../state/session";
import { hasStep, type Page, type View } from "../lib/address/address";
import { actionOf, type Action, KEYS, TOKEN_KEYS, type TokenAction } from "../lib/keymap";
import { openExport } from "../features/export";
import { FILTER_ID } from "../features/list";
import { helpOpen } from "../features/help";
import { wordOf } from "../features/judging";
import { openNote, toggleBookmark } from "../features/marks";
import { SEARCH_ID } from "../features/search";
import { appliesToTokens, tokenDoers } from "../features/tokens";
import { paletteOpen } from "../features/palette";
import { type ActionEntry, actionEntries } from "../state/actions";
import { choose, settings } from "../state/browser/settings";
import { isLocked } from "../state/browser/login";
import { turnTheme } from "../state/browser/settings";
import { turnVerbatim } from "../state/browser/textOptions";
import type { Judgement } from "../state/judging";
import { copyLink } from "../ui/controls/link";
import { announce } from "../ui/overlay/announce";
import { NARROW } from "../ui/hooks/useMatch";

/** Elements that handle keys themselves. */
const FIELDS = "input:not([type=checkbox]), textarea, select, [contenteditable]";

const doers = (session: Session): Record<Action, () => void> => ({
  ...tokenDoers(session),
  nextSample: () => goBeside(session, 1),
  previousSample: () => goBeside(session, -1),
  nextStep: () => session.steps.goBy(1),
  previousStep: () => session.steps.goBy(-1),
  firstStep: () => goStep(session, session.steps.reply.peek()?.steps[0] ?? null),
  lastStep: () => goStep(session, session.steps.last.peek()),
  nextOfPrompt: () => session.prompt.goBy(1),
  previousOfPrompt: () => session.prompt.goBy(-1),
  thenAndNow: () => session.prompt.toggleThenAndNow(),
  tokens: () => turnView(session, "tokens"),
  raw: () => turnView(session, "raw"),
  worst: () => toWorst(session),
  verbatim: turnVerbatim,
  group: () => turnView(session, "group"),
  difference: () =>
    session.place.go({
      view: "group",
      isTable: false,
      isDiff: session.place.now.peek().view !== "group" || !session.place.now.peek().isDiff,
    }),
  find: () => session.find.open(),
  expand: () => session.folds.turn(),
  follow: () => session.live.toggleFollowing(),
  filter: () => toFilter(session),
  search: () => toSearch(session),
  metrics: () => turnPage(session, "metrics"),
  compare: () => turnPage(session, "compare"),
  link: () => void copyLink(session),
  bookmark: () => toggleBookmark(session),
  note: () => openNote(session),
  judge: () => (session.judging.queue.peek() === null ? void session.judging.begin() : session.judging.end()),
  judgeGood: () => judge(session, "good"),
  judgeBad: () => judge(session, "bad"),
  judgeNone: () => judge(session, ""),
  checkReward: () => void session.judging.begin("random", true),
  share: () => openExport("sample", "html"),
  report: () => openExport("samples", "html"),
  export: () => openExport("samples"),
  theme: turnTheme,
  palette: () => {
    paletteOpen.value = !paletteOpen.peek();
  },
  help: () => {
    helpOpen.value = true;
  },
});

/** Show the sample in a view, or as a transcript if it has that view. */
function turnView(session: Session, view: View): void {
  session.place.go({ view: session.place.now.peek().view === view ? "transcript" : view });
}

/** Show a page of the run, or its rollouts if it has that page. */
function turnPage(session: Session, page: Page): void {
  session.place.go({ page: session.place.now.peek().page === page ? "rollouts" : page, list: false });
}

/** Actions on every page. */
const EVERYWHERE: ReadonlySet<Action> = new Set(["help", "palette", "theme", "link", "search"]);
/** Actions that apply to every page about a step. */
const STEPPING: ReadonlySet<Action> = new Set(["nextStep", "previousStep", "firstStep", "lastStep"]);

const isOfTokens = (action: Action): action is TokenAction => TOKEN_KEYS.some((one) => one.action === action);

/** Actions on the turns of one sample. */
const OF_ONE: ReadonlySet<Action> = new Set(["find", "expand"]);

/** Actions on a prompt that appears again. */
const OF_PROMPT: ReadonlySet<Action> = new Set(["nextOfPrompt", "previousOfPrompt", "thenAndNow"]);

function can(session: Session, action: Action): boolean {
  const { page, view, sample } = session.place.now.peek();
  if (session.judging.isBlind.peek() && !BLIND.has(action)) return false;
  if (isOfTokens(action)) return appliesToTokens(session, action);
  if (action === "metrics" || action === "compare") return session.run.now.peek() !== null;
  if (page === "rollouts" && view === "group" && OF_ONE.has(action)) return false;
  if (OF_PROMPT.has(action)) return page === "rollouts" && session.prompt.steps.peek().length > 1;
  if (action === "share") return page === "rollouts" && sample !== null;
  return EVERYWHERE.has(action) || page === "rollouts" || (hasStep(page) && STEPPING.has(action));
}

const JUDGING: ReadonlySet<Action> = new Set(["judgeGood", "judgeBad", "judgeNone"]);

/** Actions that show or change the sample. A table that covers it, or a list on a narrow screen, closes first. */
const OF_SAMPLE: ReadonlySet<Action> = new Set([
  ...OF_PROMPT,
  ...JUDGING,
  "tokens",
  "raw",
  "group",
  "difference",
  "find",
  "expand",
  "bookmark",
  "note",
]);

/** Actions that neither show another sample nor the reward. */
const BLIND: ReadonlySet<Action> = new Set([
  ...EVERYWHERE,
  ...OF_ONE,
  ...JUDGING,
  "verbatim",
  "note",
  "nextSample",
  "previousSample",
  "judge",
]);

/** Judge the sample. The bar of the judging shows it; without the bar, the page says it. */
function judge(session: Session, judgement: Judgement): void {
  const isSilent = session.judging.queue.peek() !== null;
  if (session.judging.judge(judgement))
    announce(judgement === "" ? "No judgement" : `Judged ${wordOf(judgement)}`, !isSilent);
}

/** Run an action where its effect is visible. A view that is on but covered is not turned off. */
function act(session: Session, action: Action): void {
  const isUncovered = OF_SAMPLE.has(action) && showSample(session);
  if (!isUncovered || action !== session.place.now.peek().view) doers(session)[action]();
}

/** Uncover the sample. True if something covered it. */
function showSample(session: Session): boolean {
  const { sample, mode, list } = session.place.now.peek();
  if (sample === null) return false;
  const isUnderTable = mode === "table" && session.view.isWide.peek() && settings.peek().leftOpen;
  const isUnderList = list && matchMedia(NARROW).matches;
  if (mode === "table") session.view.isWide.value = false;
  if (isUnderList) session.place.go({ list: false });
  return isUnderTable || isUnderList;
}

/**
 * The next sample of the list; with a group side by side the next column, and after its end the next sample of the
 * list.
 */
function goBeside(session: Session, by: number): void {
  if (session.judging.queue.peek() !== null) {
    session.judging.goBy(by);
    return;
  }
  if (session.place.now.peek().view !== "group" || !session.group.goMember(by)) void session.browse.goOn(by);
}

/** The filter field, with the list in view. */
function toFilter(session: Session): void {
  if (!settings.peek().leftOpen) choose({ leftOpen: true });
  if (!session.place.now.peek().list && matchMedia(NARROW).matches) session.place.go({ list: true }, "replace");
  toField(FILTER_ID);
}

/** The search field, on its page. */
function toSearch(session: Session): void {
  if (session.place.now.peek().page !== "search") session.place.go({ page: "search", list: false });
  toField(SEARCH_ID, (field) => field.select());
}

/** Focus a field after the last change is drawn and before the next key, which belongs to the field. */
function toField(id: string, then?: (field: HTMLInputElement) => void): void {
  queueMicrotask(() => {
    const field = document.querySelector<HTMLInputElement>(`#${id}`);
    field?.focus();
    if (field !== null) then?.(field);
  });
}

/** Sort the list by reward, lowest first, and open its first sample. */
function toWorst(session: Session): void {
  const mode = session.place.now.peek().mode === "table" ? "table" : "samples";
  session.place.go({ mode, sort: "reward", descending: false, sample: null, view: "transcript" });
}

function goStep(session: Session, step: number | null): void {
  if (step !== null && step !== session.place.now.peek().step) session.place.go({ step });
}

/** True for the key of the browser's find, which stays in use if it can find everything. */
function isBrowserFind(event: KeyboardEvent): boolean {
  return event.key === "f" && (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey;
}

export function startKeys(session: Session): void {
  actionEntries.value = KEYS.map(({ action, words, label }): ActionEntry => ({
    action,
    words,
    label,
    can: () => can(session, action),
    act: () => act(session, action),
  }));
  addEventListener("keydown", (event) => {
    if (
      isBrowserFind(event) &&
      session.find.isOurs.peek() &&
      can(session, "find") &&
      !isLocked.peek() &&
      !helpOpen.peek()
    ) {
      event.preventDefault();
      act(session, "find");
      return;
    }
    const action = actionOf(event);
    if (action === null || event.defaultPrevented || isLocked.peek()) return;
    const isFromHelp = helpOpen.peek() && event.key.length === 1 && event.key !== " ";
    const dialogs = document.querySelectorAll("dialog[open]").length - (isFromHelp ? 1 : 0);
    const isOver = (helpOpen.peek() && !isFromHelp) || paletteOpen.peek() || dialogs > 0;
    if (action === "palette" ? isOver && !paletteOpen.peek() : isOver) return;
    const isInField = event.target instanceof Element && event.target.closest(FIELDS) !== null;
    if ((isInField && action !== "palette") || !can(session, action)) return;
    event.preventDefault();
    if (isFromHelp) {
      helpOpen.value = false;
      if (action === "help") return;
    }
    // A key held down judges one sample.
    if (!(event.repeat && JUDGING.has(action))) act(session, action);
  });
}
