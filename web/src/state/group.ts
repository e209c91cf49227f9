/** The group of the current sample, side by side: its samples as in the list, and their answers. */

import { computed, signal, untracked } from "@preact/signals";
import { type ApiError, getMembers, getSamples } from "../api";
import type { MembersReply, SampleItem, SamplesReply } from "../api/types.gen";
import { scopeOf } from "../lib/address/address";
import { groupOf } from "../lib/address/groupAddress";
import { asApiError } from "./browser/login";
import { Store } from "./store";

/** The length of an answer to load at first, and with each further request. */
const CHARS = 20_000;

const MORE = 8;

const LEAD = 600;

/** The length for two answers that are compared word by word. */
const DIFF_CHARS = 400_000;

export const MOST_CHARS = 4_000_000;

/** A larger group has all its samples in the list of samples. */
const MEMBERS = 1000;

/** The most sample metrics with a column in the table. */
const METRICS = 12;

/** What asks for the samples of a sample's group, in order. */
function membersOf(scope: { split: string; step: number }, sample: string) {
  const group = groupOf(sample);
  const name = decodeURIComponent(group.slice(group.lastIndexOf("/") + 1));
  return { ...scope, group: name, sort: "index", descending: false, offset: 0, limit: MEMBERS };
}

export class GroupStore extends Store {
  readonly answers = signal<MembersReply | null>(null);

  readonly answersError = signal<ApiError | null>(null);

  readonly members = signal<SamplesReply | null>(null);

  /** The loaded length of the answers. */
  readonly #extent = signal({ chars: CHARS, lead: LEAD });

  readonly showMore = (): void => {
    this.#extent.value = { ...this.#extent.peek(), chars: Math.min(MOST_CHARS, this.#extent.peek().chars * MORE) };
  };

  readonly showLead = (): void => {
    this.#extent.value = { ...this.#extent.peek(), lead: MOST_CHARS };
  };

  readonly #isOpen = computed(
    () =>
      this.session.place.now.value.page === "rollouts" &&
      this.session.place.now.value.view === "group" &&
      this.session.run.now.value !== null,
  );

  /** The group of the address; null for none. */
  readonly groupId = computed<string | null>(() =>
    this.#isOpen.value && this.session.place.now.value.sample !== null
      ? groupOf(this.session.place.now.value.sample)
      : null,
  );

  /** The columns of the table, besides those of every sample. */
  readonly metricColumns = computed<readonly string[]>(() =>
    this.session.columns.all.value
      .filter(({ source, kind }) => source === "metric" && kind === "number")
      .slice(0, METRICS)
      .map(({ name }) => name),
  );

  /** The loaded samples of the address's group. */
  readonly membersHere = computed<readonly SampleItem[]>(() => {
    const current = this.members.value;
    const first = current?.samples[0];
    const isOf =
      first !== undefined &&
      current?.run === this.session.place.now.value.run &&
      groupOf(first.id) === this.groupId.value;
    return isOf && current !== null ? current.samples : [];
  });

  /** The sample of another step that the answers are compared with. */
  readonly #away = signal<SampleItem | null>(null);

  /** A sample on the screen, as in the list. */
  itemOf(id: string): SampleItem | undefined {
    const away = this.#away.value;
    return this.membersHere.value.find((item) => item.id === id) ?? (away?.id === id ? away : undefined);
  }

  async #loadAway(run: string, id: string): Promise<void> {
    const scope = scopeOf(id);
    if (scope === null || this.#away.peek()?.id === id) return;
    try {
      const reply = await getSamples(run, membersOf(scope, id));
      this.#away.value = reply.samples.find((item) => item.id === id) ?? null;
    } catch {
      // The answer is there; only its figures are missing.
    }
  }

  /** True if the answers belong to the address's group. */
  readonly isShown = computed(() => {
    const reply = this.answers.value;
    return (
      reply !== null &&
      reply.run === this.session.place.now.value.run &&
      this.groupId.value !== null &&
      groupOf(reply.id) === this.groupId.value
    );
  });

  /** The samples side by side, in order. */
  readonly shownIds = computed<readonly string[]>(() => {
    const { isTable, isDiff, only } = this.session.place.now.value;
    const all = this.membersHere.value.map(({ id }) => id);
    if (isDiff && !isTable && only.length > 0) return all.filter((id) => only.includes(id));
    if (isDiff || isTable || !this.isShown.value) return all;
    return this.answers.value?.answers.map(({ id }) => id) ?? [];
  });

  /** Move on by some columns; false at the last. */
  goMember(by: number): boolean {
    const ids = this.shownIds.peek();
    const at = ids.indexOf(this.session.place.now.peek().sample ?? "");
    const to = ids[at + by];
    if (at < 0) return false;
    if (to === undefined) return this.session.place.now.peek().only.length > 0; // the last chosen sample is the end
    this.session.place.go({ sample: to });
    return true;
  }

  /** Load again. */
  readonly again = (): void => {
    this.#round.value += 1;
  };

  readonly #round = signal(0);

  /** Changes with the samples of the step, once the reader brings the list up to date. */
  readonly #stamp = computed(() => this.session.list.now.value?.stamp ?? 0);

  start(): void {
    let last = "";
    this.effect(() => {
      const group = this.groupId.value;
      if (group !== last && group !== null) this.#extent.value = { chars: CHARS, lead: LEAD };
      if (group !== null) last = group;
    });
    this.effect(() => {
      const group = this.groupId.value;
      void this.#stamp.value;
      void this.#round.value;
      const names = this.metricColumns.value;
      if (group !== null) untracked(() => void this.#loadMembers(group, names));
    });
    this.effect(() => {
      const { sample, against, only, isDiff, isTable } = this.session.place.now.value;
      const { chars, lead } = isDiff ? { chars: DIFF_CHARS, lead: DIFF_CHARS } : this.#extent.value;
      void this.#stamp.value;
      void this.#round.value;
      if (this.groupId.value === null || sample === null || isTable) return;
      const target = isDiff ? [sample] : only;
      untracked(() => void this.#loadAnswers(sample, { against: against ?? undefined, only: target, chars, lead }));
    });
    this.effect(() => {
      const [run, against] = [this.session.place.field.run.value, this.session.place.field.against.value];
      const group = this.groupId.value;
      if (run !== null && group !== null && against !== null && groupOf(against) !== group)
        untracked(() => void this.#loadAway(run, against));
    });
    this.effect(() => {
      void this.#version.value;
      if (this.answersError.peek() !== null) untracked(this.again); // the sample may not have been read yet
    });
  }

  /** Changes whenever more of the run has been read. */
  readonly #version = computed(() => this.session.run.now.value?.version);

  #memberRound = 0;

  async #loadMembers(group: string, names: readonly string[]): Promise<void> {
    const { run: id, sample } = this.session.place.now.peek();
    const scope = sample === null ? null : scopeOf(sample);
    if (id === null || sample === null || scope === null) return;
    this.#memberRound += 1;
    const thisRound = this.#memberRound;
    try {
      const reply = await getSamples(id, { ...membersOf(scope, sample), column: ["total_tokens", ...names] });
      if (thisRound === this.#memberRound && this.groupId.peek() === group && this.session.place.now.peek().run === id)
        this.members.value = reply;
    } catch {
      // The answers report the error; without the figures they are still readable.
    }
  }

  /** The request of the current answers. */
  #loadedKey = "";

  #answerRound = 0;

  async #loadAnswers(
    id: string,
    query: { against?: string | undefined; only: readonly string[]; chars: number; lead: number },
  ): Promise<void> {
    const { run: of } = this.session.place.now.peek();
    if (of === null) return;
    const key = JSON.stringify([of, groupOf(id), query, this.#stamp.peek(), this.#round.peek()]);
    const answers = this.answers.peek();
    if (key === this.#loadedKey && this.isShown.peek() && answers?.answers.some((one) => one.id === id)) {
      this.answersError.value = null;
      return;
    }
    this.#answerRound += 1;
    const thisRound = this.#answerRound;
    const version = this.#version.peek();
    try {
      const reply = await getMembers(of, { id, ...query });
      if (
        thisRound !== this.#answerRound ||
        this.groupId.peek() !== groupOf(id) ||
        this.session.place.now.peek().run !== of
      )
        return;
      this.#loadedKey = key;
      this.answersError.value = null;
      this.answers.value = reply;
    } catch (error) {
      if (thisRound !== this.#answerRound || this.groupId.peek() !== groupOf(id)) return;
      this.answersError.value = asApiError(error);
      if (version !== this.#version.peek()) this.again();
    }
  }
}
