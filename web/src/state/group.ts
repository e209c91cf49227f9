/** The group of the sample that is looked at, side by side: its samples as the list knows them, and their answers. */

import { computed, effect, signal, untracked } from "@preact/signals";
import { type ApiError, getMembers, getSamples } from "../api";
import type { MembersReply, SampleItemView, SamplesReply } from "../api/types.gen";
import { scopeOf } from "../lib/address";
import { groupOf } from "../lib/together";
import { columns } from "./columns";
import { listing } from "./list";
import { go, place } from "./place";
import { run } from "./runs";
import { asApiError } from "./session";

/** What is sent of an answer at first, and how much more at a time. */
const CHARS = 20_000;
const MORE = 8;
const LEAD = 600;
/** Of two answers that are compared word by word. */
const DIFF_CHARS = 400_000;
export const MOST_CHARS = 4_000_000;
/** A group may have more samples: the list of samples has them all. */
const MEMBERS = 1000;
/** So many sample metrics have a column in the table. */
const METRICS = 12;

export const answers = signal<MembersReply | null>(null);
export const answersError = signal<ApiError | null>(null);
export const members = signal<SamplesReply | null>(null);

/** How much of the answers is shown. */
const extent = signal({ chars: CHARS, lead: LEAD });

export const showMore = (): void => {
  extent.value = { ...extent.peek(), chars: Math.min(MOST_CHARS, extent.peek().chars * MORE) };
};
export const showLead = (): void => {
  extent.value = { ...extent.peek(), lead: MOST_CHARS };
};

const isOpen = computed(() => place.value.page === "rollouts" && place.value.view === "group" && run.value !== null);

/** The group, as the address names it; null while none is looked at. */
export const groupId = computed<string | null>(() => (isOpen.value && place.value.sample !== null ? groupOf(place.value.sample) : null));

/** The columns of the table beside those that every sample has. */
export const metricColumns = computed<readonly string[]>(() => columns.value.filter(({ source, kind }) => source === "metric" && kind === "number").slice(0, METRICS).map(({ name }) => name));

/** The samples of the group that the address names, as far as they are here. */
export const membersHere = computed<readonly SampleItemView[]>(() => {
  const held = members.value;
  const first = held?.samples[0];
  const isOf = first !== undefined && held?.run === place.value.run && groupOf(first.id) === groupId.value;
  return isOf && held !== null ? held.samples : [];
});

/** True where the answers are those of the group that the address names. */
export const isShown = computed(() => {
  const reply = answers.value;
  return reply !== null && reply.run === place.value.run && groupId.value !== null && groupOf(reply.id) === groupId.value;
});

/** The samples that stand side by side, in order. */
export const shownIds = computed<readonly string[]>(() => {
  const { isTable, isDiff, only } = place.value;
  const all = membersHere.value.map(({ id }) => id);
  if (isDiff && !isTable && only.length > 0) return all.filter((id) => only.includes(id));
  if (isDiff || isTable || !isShown.value) return all;
  return answers.value?.answers.map(({ id }) => id) ?? [];
});

/** Go so many columns on; false where there is none. */
export function goMember(by: number): boolean {
  const ids = shownIds.peek();
  const at = ids.indexOf(place.peek().sample ?? "");
  const to = ids[at + by];
  if (at < 0) return false;
  if (to === undefined) return place.peek().only.length > 0; // of chosen ones the last is the end
  go({ sample: to });
  return true;
}

/** Ask again. */
export function again(): void {
  round.value += 1;
}

const round = signal(0);

/** Changes where samples of the step are others: when somebody brings the list up to date, never before. */
const stamp = computed(() => listing.value?.stamp ?? 0);

export function startGroup(): void {
  let last = "";
  effect(() => {
    const group = groupId.value;
    if (group !== last && group !== null) extent.value = { chars: CHARS, lead: LEAD };
    if (group !== null) last = group;
  });
  effect(() => {
    const group = groupId.value;
    void stamp.value;
    void round.value;
    const names = metricColumns.value;
    if (group !== null) untracked(() => void loadMembers(group, names));
  });
  effect(() => {
    const { sample, against, only, isDiff, isTable } = place.value;
    const { chars, lead } = isDiff ? { chars: DIFF_CHARS, lead: DIFF_CHARS } : extent.value;
    void stamp.value;
    void round.value;
    if (groupId.value === null || sample === null || isTable) return;
    const wanted = isDiff ? [sample] : only;
    untracked(() => void loadAnswers(sample, { against: against ?? undefined, only: wanted, chars, lead }));
  });
}

let membersAsked = 0;

async function loadMembers(group: string, names: readonly string[]): Promise<void> {
  const { run: id, sample } = place.peek();
  const scope = sample === null ? null : scopeOf(sample);
  if (id === null || scope === null) return;
  membersAsked += 1;
  const own = membersAsked;
  try {
    const name = decodeURIComponent(group.slice(group.lastIndexOf("/") + 1));
    const column = ["total_tokens", ...names];
    const reply = await getSamples(id, { ...scope, group: name, sort: "index", descending: false, offset: 0, limit: MEMBERS, column });
    if (own === membersAsked && groupId.peek() === group && place.peek().run === id) members.value = reply;
  } catch {
    // The answers say what is wrong; without the figures they can be read all the same.
  }
}

/** What the answers that are shown were asked for with. */
let held = "";
let asked = 0;

async function loadAnswers(id: string, query: { against?: string | undefined; only: readonly string[]; chars: number; lead: number }): Promise<void> {
  const { run: of } = place.peek();
  if (of === null) return;
  const key = JSON.stringify([of, groupOf(id), query, stamp.peek(), round.peek()]);
  const known = answers.peek();
  if (key === held && isShown.peek() && known?.answers.some((one) => one.id === id)) {
    answersError.value = null;
    return;
  }
  asked += 1;
  const own = asked;
  try {
    const reply = await getMembers(of, { id, ...query });
    if (own !== asked || groupId.peek() !== groupOf(id) || place.peek().run !== of) return;
    held = key;
    answersError.value = null;
    answers.value = reply;
  } catch (error) {
    if (own === asked && groupId.peek() === groupOf(id)) answersError.value = asApiError(error);
  }
}
