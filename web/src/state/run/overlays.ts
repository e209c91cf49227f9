/** The steps of the overlaid runs, for the split of the current run, kept up to date. */

import { computed, signal, untracked } from "@preact/signals";
import { getSteps } from "../../api";
import type { RunItem, StepsReply } from "../../api/types.gen";
import { choicesOf } from "../../lib/address/splits";
import { runOf } from "../runs";
import { isVisible } from "../browser/visibility";
import { Store } from "../store";

export interface Overlay {
  item: RunItem;
  /** Null while loading, and for a run without such a split. */
  steps: StepsReply | null;
}

export class OverlaysStore extends Store {
  /** By run id. */
  readonly #loaded = signal<ReadonlyMap<string, StepsReply>>(new Map());

  readonly #wanted = new Set<string>();

  /** The overlaid runs that are open, in the order of choice. */
  readonly runs = computed<readonly RunItem[]>(() =>
    this.session.place.field.over.value.flatMap((id) => runOf(id) ?? []),
  );

  readonly all = computed<readonly Overlay[]>(() =>
    this.runs.value.map((item) => {
      const steps = this.#loaded.value.get(item.id) ?? null;
      return { item, steps: steps?.split === this.session.place.field.split.value ? steps : null };
    }),
  );

  /** Overlay a run, or remove it. */
  toggle(id: string): void {
    const { over } = this.session.place.now.peek();
    this.session.place.go({ over: over.includes(id) ? over.filter((one) => one !== id) : [...over, id] }, "replace");
  }

  start(): void {
    this.effect(() => {
      const split = this.session.place.field.split.value;
      const items = this.runs.value;
      if (!isVisible.value || split === null) return;
      untracked(() => {
        for (const item of items) void this.#refresh(item, split);
      });
    });
  }

  async #refresh(item: RunItem, split: string): Promise<void> {
    const current = this.#loaded.peek().get(item.id);
    const key = `${item.id}\n${split}\n${item.version}`;
    if (
      (current?.version === item.version && current.split === split) ||
      this.#wanted.has(key) ||
      !choicesOf(item.splits).some((one) => one.name === split)
    )
      return;
    this.#wanted.add(key);
    try {
      this.#loaded.value = new Map(this.#loaded.peek()).set(item.id, await getSteps(item.id, split));
    } catch {
      // A run without its curve still has its name beside the chart; its next change loads the curve again.
    } finally {
      this.#wanted.delete(key);
    }
  }
}
