/**
 * Marks that a person added, shared by all tabs and viewers: names, colours and notes of runs, bookmarks, notes
 * and judgements on samples, settings.
 *
 * A change shows at once, and is sent with the version that it is based on. If another change came first, the page
 * offers both: see `conflict`.
 */

import { batch, computed, signal } from "@preact/signals";
import { type ApiError, changeState, getState } from "../api";
import type { RunItem, RunMark, SampleMark, StateItem, StateOwner } from "../api/types.gen";
import { isRecord } from "../lib/data/record";
import {
  changes,
  type Conflict,
  isBookmark,
  isConflict,
  isEmpty,
  isRunMark,
  isSampleMark,
  keyOf,
  type MarkValue,
  merged,
  NO_RUN_MARK,
  NO_SAMPLE_MARK,
  ownerOf,
  type Subject,
  valueOf,
  without,
} from "../lib/marks";
import { ownNameOf, placeOfRun } from "./runs";
import { logout, mayWrite, mergedShared, role, shared, sharedByOthers, sharedNow, user } from "./team/people";
import { asApiError } from "./browser/login";
import { inTurn } from "./turns";

export const items = signal<ReadonlyMap<string, StateItem>>(new Map());
export const owners = signal<readonly StateOwner[]>([]);
/** The reason why marks last for this session only; empty if they are stored. */
export const storageProblem = signal("");
export const statePlace = signal("");
export const conflict = signal<Conflict | null>(null);
/** The reason why marks could not be loaded; null if they were. */
export const marksError = signal<ApiError | null>(null);

/** A failed change. The page shows it anyway, until it succeeds or is discarded. */
export interface UnsavedMark {
  subject: Subject;
  value: MarkValue;
  error: ApiError;
}

/** By run id and name, as `pending`. */
export const unsavedMarks = signal<ReadonlyMap<string, UnsavedMark>>(new Map());

/** Unsent changes made here, by run id and name. */
const pending = signal<ReadonlyMap<string, MarkValue>>(new Map());
let version = 0;
/** True once the marks have been loaded for the first time. */
export const areMarksLoaded = signal(false);

export const localKey = ({ kind, run, owner, name }: Subject): string =>
  keyOf(kind, run === "" ? `\t${owner}` : run, name);

function storedKey({ kind, run, owner, name }: Subject): string | null {
  const key = run === "" ? owner : ownerOf(owners.value, run);
  return kind !== "setting" && key === "" ? null : keyOf(kind, key, name);
}

/** The person's own item: the shared one, else the private one. */
function itemOf(subject: Subject): StateItem | undefined {
  const key = storedKey(subject);
  return key === null ? undefined : (sharedNow(key) ?? items.value.get(key));
}

/** True if the team sees it. */
export const isShared = (subject: Subject): boolean => itemOf(subject)?.shared === true;

/** What other people of the team share, the newest first. */
export function fromOthers(subject: Subject): readonly StateItem[] {
  const key = storedKey(subject);
  return key === null ? [] : sharedByOthers(key);
}

/** The value of a mark, including unsent changes. */
export function markValue(subject: Subject): MarkValue {
  const waiting = pending.value.get(localKey(subject));
  if (waiting !== undefined) return waiting;
  const item = itemOf(subject);
  const own = item === undefined ? null : valueOf(item);
  if (own !== null || subject.kind !== "layout") return own;
  const [theirs] = fromOthers(subject);
  return theirs === undefined ? null : valueOf(theirs);
}

export const ofRun = (run: string): Subject => ({ kind: "run", run, owner: "", name: "" });
export const ofSample = (run: string, id: string): Subject => ({ kind: "sample", run, owner: "", name: id });
/** The layout of a page of a run. */
export const ofLayout = (run: string, page: string): Subject => ({ kind: "layout", run, owner: "", name: page });
const ofSetting = (name: string): Subject => ({ kind: "setting", run: "", owner: "", name });

export function runMark(run: string): RunMark {
  const value = markValue(ofRun(run));
  return isRunMark(value) ? value : NO_RUN_MARK;
}

export function sampleMark(run: string, id: string): SampleMark {
  const value = markValue(ofSample(run, id));
  return isSampleMark(value) ? value : NO_SAMPLE_MARK;
}

export const settingOf = (name: string): Record<string, unknown> | null => recordAt(ofSetting(name));
export function recordAt(subject: Subject): Record<string, unknown> | null {
  const value = markValue(subject);
  return isRecord(value) ? value : null;
}

export const changeRun = async (run: string, change: Partial<RunMark>): Promise<void> =>
  put(ofRun(run), { ...runMark(run), ...change });
export const changeSample = async (run: string, id: string, change: Partial<SampleMark>): Promise<void> =>
  put(ofSample(run, id), { ...sampleMark(run, id), ...change });
/**
 * Change a text after a while of writing: `before` is its value when writing began. If another change came in between,
 * nothing is overwritten; the page offers both.
 */
export async function changeText(
  subject: Subject,
  field: "name" | "note",
  before: string,
  after: string,
): Promise<void> {
  if (after === before) return;
  const now = subject.kind === "run" ? runMark(subject.run) : sampleMark(subject.run, subject.name);
  const theirs = itemOf(subject);
  const current = field === "name" && "name" in now ? now.name : now.note;
  const mine: MarkValue = { ...now, [field]: after };
  if (current === before || current === after || theirs === undefined) await put(subject, mine);
  else conflict.value = { subject, mine, theirs };
}

export const changeSetting = async (name: string, value: Record<string, unknown>): Promise<void> =>
  put(ofSetting(name), value);

/** The name of a run: the person's own name for it, else a name that others share, else the name of its folder. */
export const nameOf = (item: RunItem): string =>
  runMark(item.id).name ||
  (fromOthers(ofRun(item.id)).find((one) => (one.run_mark?.name ?? "") !== "")?.run_mark?.name ?? ownNameOf(item));

/** The number of a run's colour, 1 to 10: the chosen one, else by its place among the runs. */
export function colourOf(id: string): number {
  const chosen = runMark(id).colour;
  return chosen > 0 ? chosen : (Math.max(0, placeOfRun(id)) % 10) + 1;
}

/** All bookmarks and notes on samples, the newest first, with their run if it is open. */
export const sampleMarks = computed(() =>
  [...items.value.values(), ...shared.value.values()]
    .filter(({ sample_mark: mark }) => mark !== null && isBookmark(mark))
    .toSorted((a, b) => b.version - a.version)
    .map((item) => ({ item, owner: owners.value.find((one) => one.owner === item.owner) ?? null })),
);

/** The load under way; `again` if something has changed since. */
const loading: { now: Promise<void> | null; again: boolean } = { now: null, again: false };

/** Load the changes, one request at a time. */
export async function loadMarks(): Promise<void> {
  loading.again = true;
  loading.now ??= loadAll();
  await loading.now;
}

async function loadAll(): Promise<void> {
  try {
    while (loading.again) {
      loading.again = false;
      await loadSince();
    }
  } catch (error) {
    marksError.value = asApiError(error);
  } finally {
    loading.now = null;
  }
}

/** Load the changes, in all parts that the server sends, and show them together, so that a list moves only once. */
async function loadSince(): Promise<void> {
  let reply = await getState(version);
  const isOther = reply.version < version; // the server now uses another file
  if (isOther) reply = await getState(0);
  const parts = [reply.items];
  const sharedParts = [reply.shared];
  while (reply.more) {
    reply = await getState(reply.version);
    parts.push(reply.items);
    sharedParts.push(reply.shared);
  }
  ({ version } = reply);
  batch(() => {
    items.value = merged(isOther ? new Map() : items.peek(), parts.flat());
    shared.value = mergedShared(isOther ? new Map() : shared.peek(), sharedParts.flat());
    user.value = reply.user;
    role.value = reply.role;
    logout.value = reply.logout;
    owners.value = reply.owners;
    storageProblem.value = reply.trouble;
    statePlace.value = reply.place;
    marksError.value = null;
    areMarksLoaded.value = true;
  });
}

/** Change a mark, here at once, and on the server in its turn. */
export async function put(subject: Subject, value: MarkValue): Promise<void> {
  const key = localKey(subject);
  const target = isEmpty(value) ? null : value;
  unsavedMarks.value = without(unsavedMarks.peek(), key);
  pending.value = new Map(pending.peek()).set(key, target);
  if (!mayWrite.peek()) return; // changes of a team's reader last for this visit
  await inTurn(key, async () => send(subject, target));
  if (pending.peek().get(key) === target && !unsavedMarks.peek().has(key)) pending.value = without(pending.peek(), key);
}

/** Resolves once all earlier changes of a mark were sent, or failed. */
export const allSent = async (subject: Subject): Promise<void> => inTurn(localKey(subject), async () => undefined);
export const isUnsaved = (subject: Subject): boolean => unsavedMarks.value.has(localKey(subject));
/** Send failed changes again. */
export async function sendAgain(): Promise<void> {
  await Promise.all([...unsavedMarks.peek().values()].map(async ({ subject, value }) => put(subject, value)));
}

/** Discard failed changes, and restore the previous state. */
export function dropUnsaved(): void {
  const rest = new Map(pending.peek());
  for (const key of unsavedMarks.peek().keys()) rest.delete(key);
  unsavedMarks.value = new Map();
  pending.value = rest;
}

/** Keep one of two: mine over theirs, or theirs. */
export async function resolve(keep: "mine" | "theirs"): Promise<void> {
  const both = conflict.peek();
  if (both === null) return;
  conflict.value = null;
  take(both.theirs);
  if (keep === "mine") await put(both.subject, both.mine);
}

async function send(subject: Subject, value: MarkValue): Promise<void> {
  const { kind, run, owner, name } = subject;
  const stored = itemOf(subject);
  const seen = stored?.version ?? 0;
  const field = { run: "run_mark", sample: "sample_mark", layout: "setting", setting: "setting" }[kind];
  try {
    const content = value === null ? {} : { [field]: value };
    const item = await changeState({ kind, run, owner, name, seen, shared: stored?.shared ?? false, ...content });
    unsavedMarks.value = without(unsavedMarks.peek(), localKey(subject));
    take(item);
    if (run !== "" && ownerOf(owners.peek(), run) === "") await loadMarks();
  } catch (error) {
    const failure = asApiError(error);
    const theirs = failure.status === 409 && isConflict(failure.body) ? failure.body.item : undefined;
    if (theirs === undefined) {
      // The browser stores settings as well.
      if (kind !== "setting")
        unsavedMarks.value = new Map(unsavedMarks.peek()).set(localKey(subject), { subject, value, error: failure });
    } else if (kind === "setting") {
      // The person's last choice counts; fields that another tab chose stay.
      const chosen = changes(stored === undefined ? null : valueOf(stored), value);
      take(theirs);
      await send(subject, { ...valueOf(theirs), ...chosen });
    } else conflict.value = { subject, mine: value, theirs };
  }
}

export function take(item: StateItem): void {
  if (item.shared) shared.value = mergedShared(shared.peek(), [item]);
  else items.value = merged(items.peek(), [item]);
}
