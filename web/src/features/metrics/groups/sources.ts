/** The sources of a chart's lines: runs, or groups of runs that share a value of their configurations. */

import type { CurveGroup, RunItem } from "../../../api/types.gen";
import { count } from "../../../lib/numbers/numbers";
import { harmless } from "../../../lib/text/invisible";
import { colourOf, nameOf } from "../../../state/marks";

export interface Source {
  id: string;
  name: string;
  colour: number;
  /** A person hid its lines. */
  isHidden: boolean;
}

/** As many colours as runs have. */
const COLOURS = 10;
const NONE: ReadonlySet<string> = new Set();

/**
 * The groups in their order, with the number of their runs; without groups, the runs, beginning with that of the page.
 */
export function sourcesOf(
  runs: readonly RunItem[],
  groups: readonly CurveGroup[] | null,
  key: string,
  hidden: ReadonlySet<string> = NONE,
): Source[] {
  if (groups === null)
    return runs.map((run) => ({
      id: run.id,
      name: harmless(nameOf(run)),
      colour: colourOf(run.id),
      isHidden: runs.length > 1 && hidden.has(run.id),
    }));
  const last = key.split(".").at(-1) ?? key;
  return groups.map(({ value, runs: of }, i) => ({
    id: JSON.stringify(value),
    name: harmless(`${value === null ? `no ${last}` : `${last} ${value}`} · ${count(of.length, "run")}`),
    colour: (i % COLOURS) + 1,
    isHidden: false,
  }));
}
