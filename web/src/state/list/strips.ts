/** The strips of the groups in the list: the columns that fit, and the meaning of their colours. */

import { computed, signal } from "@preact/signals";
import type { GroupItem } from "../../api/types.gen";
import { finite } from "../../lib/numbers/numbers";
import { endsOf, type Scale, scaleOf } from "../../lib/colour/scales";
import { type Column, type Laid, laid } from "../../lib/list/strips";
import { SHORT } from "../run/columns";
import { Store } from "../store";

/** The most characters of a name as a title. */
const titled = (words: string | undefined): string | undefined =>
  words && words.charAt(0).toUpperCase() + words.slice(1);

/** The width of the colours of a scale between its ends, in characters. */
const RAMP_SIGNS = 1;

/** A column of the list: the index of its values among those of a group, and the meaning of their colours. */
export interface Shown extends Column {
  at: number;
  scale: Scale;
}

export type Strips = Laid<Shown>;

const NONE: Strips = { strips: [], isBeside: true, lines: 1 };

export class StripsStore extends Store {
  /** The width of the list; `isAlone`: on a screen without room for anything else. */
  readonly room = signal({ px: 0, isAlone: false });

  readonly now = computed<Strips>(() => {
    const list = this.session.list.now.value;
    if (list === null || list.mode !== "groups") return NONE;
    const { usual } = list.scope;
    // All rows of the first loaded page decide it: later pages move nothing.
    const [page = []] = list.groups.values();
    const isGraded = this.session.columns.named(list.columns[1] ?? "")?.source === "metric";
    const columns = list.columns.flatMap((name, at): Shown[] => {
      const of = this.#colours(name, page, at);
      // A column that nobody chose and that this run lacks would have rows of empty cells. Without rewards, the metric
      // that grades the samples comes first.
      const isEmpty = !page.some(({ cells }) => cells[at]?.some((value) => finite(value) !== null));
      if (usual && isEmpty && (at > 0 || isGraded)) return [];
      return [
        {
          name,
          at,
          scale: of,
          words: titled(SHORT.get(name)) ?? this.session.columns.shortLabel(name),
          signs: RAMP_SIGNS + endsOf(of).join("").length,
        },
      ];
    });
    const samples =
      this.session.columns.groupSize.value || page.reduce((most, group) => Math.max(most, group.samples), 0);
    return laid({ columns, samples, px: usual && this.room.value.isAlone ? 0 : this.room.value.px, isFitted: usual });
  });

  /**
   * The scale of a column's colours, from the range of the run; if that is unknown, as for new metrics, from the values
   * in the list.
   */
  #colours(name: string, page: readonly GroupItem[], at: number): Scale {
    const words = this.session.columns.scale(name);
    const column = this.session.columns.named(name);
    if (words.kind !== "none" || column === null || column.kind !== "number") return words;
    let [low, high] = [Infinity, -Infinity];
    for (const value of page.flatMap(({ cells }) => cells[at] ?? []).map(finite)) {
      low = Math.min(low, value ?? low);
      high = Math.max(high, value ?? high);
    }
    return low > high ? words : scaleOf({ ...column, low, high }, this.session.columns.groupSize.value);
  }
}
