/** The person on a team's server: name, rights, and what the team shares. Without a team, everything is allowed. */

import { computed, signal } from "@preact/signals";
import type { StateItem } from "../../api/types.gen";
import { keyOf } from "../../lib/marks";

/** Empty without a team. */
export const user = signal("");
export const role = signal("admin");
/** The address that ends the login; empty where the server has none. */
export const logout = signal("");
export const isTeam = computed(() => user.value !== "");
export const mayWrite = computed(() => role.value !== "reader");
export const isAdmin = computed(() => role.value === "admin");

/** What the person and others share, by item and person; removed items included. */
export const shared = signal<ReadonlyMap<string, StateItem>>(new Map());

const keyOfItem = (item: StateItem): string => keyOf(item.kind, item.owner, item.name);
const isThere = (item: StateItem | undefined): boolean =>
  item !== undefined && (item.run_mark !== null || item.sample_mark !== null || item.setting !== null);

/** The shared items updated by newer ones. */
export function mergedShared(
  items: ReadonlyMap<string, StateItem>,
  newer: readonly StateItem[],
): Map<string, StateItem> {
  const all = new Map(items);
  for (const item of newer) {
    const key = `${keyOfItem(item)}\n${item.by}`;
    if ((all.get(key)?.version ?? 0) <= item.version) all.set(key, item);
  }
  return all;
}

/** What the person shares, or once shared, under a key, with its version. */
export const ownShared = (key: string): StateItem | undefined => shared.value.get(`${key}\n${user.value}`);

/** What the person shares under a key now. */
export function sharedNow(key: string): StateItem | undefined {
  const item = ownShared(key);
  return isThere(item) ? item : undefined;
}

/** What others share under each key, the newest first. */
const byKey = computed(() => {
  const found = new Map<string, StateItem[]>();
  for (const item of [...shared.value.values()].toSorted((a, b) => b.version - a.version)) {
    if (item.by === user.value || !isThere(item)) continue;
    const key = keyOfItem(item);
    found.set(key, [...(found.get(key) ?? []), item]);
  }
  return found;
});

export const sharedByOthers = (key: string): readonly StateItem[] => byKey.value.get(key) ?? [];
