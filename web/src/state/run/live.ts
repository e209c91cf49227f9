/** The live side of a run: changes since the list was loaded, and following the run. */

import { computed, signal, untracked } from "@preact/signals";
import type { Place } from "../../lib/address/address";
import { holds, keyOf, type Scope } from "../../lib/list/scope";
import { isConnected } from "../connection";
import { wholeStep } from "../sample/prefetch";
import { Store } from "../store";

const RELOAD_MS = 400;
/** Following, the step before stays on the screen so long, until the next one is loaded. */
const PATIENCE_MS = 2000;

export class LiveStore extends Store {
  readonly isFollowing = signal(false);

  /** True after following ended because the reader went elsewhere. */
  readonly isPaused = signal(false);

  /** The last step that the reader knows: later ones are news. */
  readonly #seen = signal<{ scope: string; step: number } | null>(null);

  readonly #splitKey = computed(() => `${this.session.place.now.value.run}\n${this.session.place.now.value.split}`);

  /** The number of samples in the scope that the list lacks. */
  readonly newSamples = computed(() => {
    const list = this.session.list.now.value;
    const reply = this.session.steps.reply.value;
    if (
      list === null ||
      reply === null ||
      this.session.list.isBehind.value ||
      reply.run !== list.scope.run ||
      reply.split !== list.scope.split
    )
      return 0;
    const current = list.scope.discarded ? reply.discarded : reply.samples;
    const total = reply.steps.reduce((sum, step, i) => sum + (holds(list.scope, step) ? (current[i] ?? 0) : 0), 0);
    return Math.max(0, total - list.of);
  });

  /** The step of the list and its stamp, if that differs from the list's: its files may have been rewritten. */
  readonly #restamped = computed<string | null>(() => {
    const list = this.session.list.now.value;
    const reply = this.session.steps.reply.value;
    if (
      list === null ||
      reply === null ||
      this.session.list.isBehind.value ||
      reply.run !== list.scope.run ||
      reply.split !== list.scope.split
    )
      return null;
    if (list.scope.step === null || this.newSamples.value > 0) return null;
    const stamp = reply.stamps[reply.steps.indexOf(list.scope.step)] ?? 0; // without such a step, the one of its list
    return stamp === list.stamp ? null : `${list.key}\n${list.stamp}\n${stamp}`;
  });

  /** The list as it was loaded: the same text until it is loaded again. */
  readonly #loaded = computed(() => `${this.session.list.now.value?.key}\n${this.session.list.now.value?.stamp}`);

  /** The last list that was found to differ from its step. */
  readonly #changed = signal("");

  /**
   * True if the samples of this step differ from those in the list, because files were rewritten or shrank. It stays
   * true while a later change is compared, so that the button does not vanish under a pointer.
   */
  readonly isStale = computed(() => this.#restamped.value !== null && this.#loaded.value === this.#changed.value);

  /** The number of new steps since the reader went to the newest one, or to this split. */
  readonly newSteps = computed(() => {
    const seen = this.#seen.value;
    if (seen === null || seen.scope !== this.#splitKey.value) return 0;
    return this.session.steps.reply.value?.steps.filter((step) => step > seen.step).length ?? 0;
  });

  /** Show the news: the newest step, with the current list. */
  readonly goNewest = (): void => {
    const newest = this.session.steps.last.peek();
    if (newest === null) return;
    this.#seen.value = { scope: this.#splitKey.peek(), step: newest };
    if (this.session.place.now.peek().step !== newest) this.session.place.go({ step: newest });
  };

  /** Bring the list up to date, and the sample's place in it. */
  async showNew(): Promise<void> {
    await this.session.list.reload();
    await this.session.sample.refresh();
  }

  /** Follow the run from its newest step on, or stop. */
  readonly toggleFollowing = (): void => {
    const wasFollowing = this.isFollowing.peek();
    if (!wasFollowing) this.goNewest(); // before following, which a step other than the newest would end
    this.isFollowing.value = !wasFollowing;
    this.isPaused.value = false;
  };

  start(): void {
    this.#startSeen();
    this.startFollowing();
    this.#startFilling();
    this.startConfirming();
    this.#startMending();
  }

  /**
   * News about other steps also changes the stamp of this one, so the page compares the shown samples before it reports
   * news.
   */
  startConfirming(): void {
    let isLooking = false;
    let compared = "";
    const look = async (): Promise<void> => {
      const what = this.#restamped.peek();
      if (isLooking || what === null || what === compared) return;
      isLooking = true;
      const isKept = await this.session.sample.isSame().catch(() => false);
      if (isKept) await this.session.list.confirm().catch(() => undefined);
      if (this.#restamped.peek() === what) {
        compared = what;
        this.#changed.value = this.#loaded.peek();
      }
      isLooking = false;
      if (this.#restamped.peek() !== what) setTimeout(() => void look(), RELOAD_MS);
    };
    this.effect(() => {
      if (this.#restamped.value !== null) untracked(() => void look());
    });
  }

  #startSeen(): void {
    this.effect(() => {
      const scope = this.#splitKey.value;
      const newest = this.session.steps.last.value;
      const { step } = this.session.place.now.value;
      untracked(() => {
        if (newest === null || this.session.steps.reply.peek()?.split !== this.session.place.now.peek().split) return;
        if (this.#seen.peek()?.scope !== scope || step === newest) this.#seen.value = { scope, step: newest };
      });
    });
  }

  /** Following ends when the reader goes to another step, or to another sample of the newest one. */
  startFollowing(): void {
    let newest: number | null = null;
    let read: { step: number | null; sample: string | null } = { step: null, sample: null };
    this.effect(() => {
      const last = this.session.steps.last.value;
      const { step, sample } = this.session.place.now.value;
      const before = read;
      read = { step, sample };
      if (!this.isFollowing.value) {
        newest = last;
        return;
      }
      untracked(() => {
        const isChosen = step === before.step && sample !== null && before.sample !== null && sample !== before.sample;
        if (last !== newest && !isChosen) {
          newest = last;
          void this.#catchUp();
        } else if (isChosen || (step !== null && step !== before.step && step !== last)) {
          this.isFollowing.value = false;
          this.isPaused.value = true;
        }
      });
    });
  }

  #isCatchingUp = false;

  /** Go to the newest step once all that is shown of it is loaded, so that nothing is blank in between. */
  async #catchUp(): Promise<void> {
    if (this.#isCatchingUp) return;
    this.#isCatchingUp = true;
    try {
      for (;;) {
        const at = this.session.place.now.peek();
        const step = this.session.steps.last.peek();
        if (!this.isFollowing.peek() || step === null || step === at.step) break;
        const of = this.#listOf(at, step);
        const late = new Promise<null>((done) => setTimeout(() => done(null), PATIENCE_MS));
        const loaded = of === null ? null : wholeStep(this.session, of).catch(() => null);
        // oxlint-disable-next-line no-await-in-loop -- one step after another
        const sample = loaded === null ? null : await Promise.race([loaded, late]);
        const now = this.session.place.now.peek();
        if (!this.isFollowing.peek() || now.run !== at.run || now.split !== at.split) break;
        const after = this.#listOf(now, step);
        const isSame = of !== null && after !== null && keyOf(of) === keyOf(after); // not with another filter
        this.session.place.go(sample === null || !isSame ? { step } : { step, sample }, "replace");
      }
    } finally {
      this.#isCatchingUp = false;
    }
  }

  /** The list of a step at a place; null where the list has several steps. */
  #listOf(at: Place, step: number): Scope | null {
    return at.extent === "step" ? this.session.list.scopeAt({ ...at, step }) : null;
  }

  /** While following, and during the first indexing, the list fills by itself. */
  #startFilling(): void {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const ready = new Set<string>(); // runs whose index was complete once: later samples wait for the reader
    this.effect(() => {
      if (this.session.run.now.value?.progress.phase === "ready") ready.add(this.session.run.now.value.id);
      // An empty list cannot move: it may have been loaded before the index had anything for it.
      const isFilling =
        this.isFollowing.value ||
        this.session.list.now.value?.of === 0 ||
        (this.session.run.now.value !== null && !ready.has(this.session.run.now.value.id));
      if (!isFilling || (this.newSamples.value === 0 && !this.isStale.value) || timer !== undefined) return;
      timer = setTimeout(
        () => {
          timer = undefined;
          void this.showNew();
        },
        this.isFollowing.peek() ? 0 : RELOAD_MS,
      );
    });
  }

  /** Failed requests are repeated once the run has changed or the server is back. */
  #startMending(): void {
    let timer: ReturnType<typeof setTimeout> | undefined;
    this.effect(() => {
      if (this.session.run.now.value?.version === undefined || isConnected.value !== true || timer !== undefined)
        return;
      timer = setTimeout(() => {
        timer = undefined;
        if (this.session.sample.error.peek() !== null) void this.session.sample.refresh();
        if (this.session.list.error.peek() !== null) void this.session.list.reload();
      }, RELOAD_MS);
    });
  }
}
