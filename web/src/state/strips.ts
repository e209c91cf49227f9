/** The strips of the groups in the list: which of the columns have room, and what the colours of each mean. */

import { computed, signal } from "@preact/signals";
import type { GroupItem } from "../api/types.gen";
import { finite } from "../lib/numbers";
import { endsOf, type Scale, scaleOf } from "../lib/scales";
import { type Column, type Laid, laid } from "../lib/strips";
import { columnOf, groupSize, scale, shortLabel } from "./columns";
import { listing } from "./list";

/** How wide the list is; `isAlone`: on a screen that has room for nothing else. */
export const room = signal({ px: 0, isAlone: false });

/** Names where there is little room. */
const SHORT: ReadonlyMap<string, string> = new Map([["response_tokens", "Tokens"], ["prompt_tokens", "Prompt"], ["total_tokens", "In all"], ["response_chars", "Characters"]]);

/** What the colours of a scale take, beside its ends. */
const RAMP_SIGNS = 1;

/** A column of the list: where its values stand among those of a group, and what their colours mean. */
export interface Shown extends Column {
  at: number;
  scale: Scale;
}

export type Strips = Laid<Shown>;

const NONE: Strips = { strips: [], isBeside: true, lines: 1 };

export const strips = computed<Strips>(() => {
  const list = listing.value;
  if (list === null || list.mode !== "groups") return NONE;
  const { usual } = list.scope;
  // What all rows of the first page that is there tell: later pages move nothing.
  const [page = []] = list.groups.values();
  const columns = list.columns.flatMap((name, at): Shown[] => {
    // Of what came without a choice and is not known here there would be rows of empty cells.
    if (usual && at > 0 && !page.some(({ cells }) => cells[at]?.some((value) => finite(value) !== null))) return [];
    const of = colours(name, page, at);
    return [{ name, at, scale: of, words: SHORT.get(name) ?? shortLabel(name), signs: RAMP_SIGNS + endsOf(of).join("").length }];
  });
  const samples = groupSize.value || page.reduce((most, group) => Math.max(most, group.samples), 0);
  return laid({ columns, samples, px: usual && room.value.isAlone ? 0 : room.value.px, isFitted: usual });
});

/** The scale of a column's colours; of one whose range the run does not tell, as of what was learned later, by what is in the list. */
function colours(name: string, page: readonly GroupItem[], at: number): Scale {
  const told = scale(name);
  const column = columnOf(name);
  if (told.kind !== "none" || column === null || column.kind !== "number") return told;
  let [low, high] = [Infinity, -Infinity];
  for (const value of page.flatMap(({ cells }) => cells[at] ?? []).map(finite)) {
    low = Math.min(low, value ?? low);
    high = Math.max(high, value ?? high);
  }
  return low > high ? told : scaleOf({ ...column, low, high }, groupSize.value);
}
