/** The steps of the runs that are drawn over the one that is looked at: of the same split, kept up to date. */

import { computed, effect, signal, untracked } from "@preact/signals";
import { getSteps } from "../api";
import type { RunItem, StepsReply } from "../api/types.gen";
import { choicesOf } from "../lib/splits";
import { go, place } from "./place";
import { runs } from "./runs";
import { isVisible } from "./visible";

/** By run id. */
const loaded = signal<ReadonlyMap<string, StepsReply>>(new Map());
const wanted = new Set<string>();

/** The overlaid runs that are open, in the order in which they were chosen. */
export const overlaid = computed<readonly RunItem[]>(() => place.value.over.flatMap((id) => runs.value?.find((one) => one.id === id) ?? []));

export interface Overlay {
  item: RunItem;
  /** Null while they are on their way, and where the run has no such split. */
  steps: StepsReply | null;
}

export const overlays = computed<readonly Overlay[]>(() =>
  overlaid.value.map((item) => {
    const steps = loaded.value.get(item.id) ?? null;
    return { item, steps: steps?.split === place.value.split ? steps : null };
  }),
);

/** Draw a run over the one that is looked at, or no longer. */
export function toggleOverlay(id: string): void {
  const { over } = place.peek();
  go({ over: over.includes(id) ? over.filter((one) => one !== id) : [...over, id] }, "replace");
}

export function startOverlays(): void {
  effect(() => {
    const { split } = place.value;
    const items = overlaid.value;
    if (!isVisible.value || split === null) return;
    untracked(() => {
      for (const item of items) void refresh(item, split);
    });
  });
}

async function refresh(item: RunItem, split: string): Promise<void> {
  const held = loaded.peek().get(item.id);
  const key = `${item.id}\n${split}\n${item.version}`;
  if ((held?.version === item.version && held.split === split) || wanted.has(key) || !choicesOf(item.splits).some((one) => one.name === split)) return;
  wanted.add(key);
  try {
    loaded.value = new Map(loaded.peek()).set(item.id, await getSteps(item.id, split));
  } catch {
    // Without its curve a run is still named beside the chart; the next change of it asks again.
  } finally {
    wanted.delete(key);
  }
}
