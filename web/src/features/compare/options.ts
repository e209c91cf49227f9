/** The options of the page, which its address holds, and the runs that it compares. */

import type { RunItem, SharedPromptsReply } from "../../api/types.gen";
import { isOf } from "../../lib/address/splits";
import { count, figure } from "../../lib/numbers/numbers";
import type { Session } from "../../state/session";

export function option(session: Session, name: string): string {
  return session.place.field.ask.value[name] ?? "";
}

export function setOptions(
  session: Session,
  change: Record<string, string>,
  how: "push" | "replace" = "replace",
): void {
  session.place.go({ ask: { ...session.place.now.peek().ask, ...change } }, how);
}

/** The current run, and those drawn over it. */
export function comparedRuns(session: Session): readonly RunItem[] {
  const item = session.run.now.value;
  return item === null ? [] : [item, ...session.overlays.runs.value];
}

/** The splits that all of these runs have, of those that a choice covers. */
export function sharedSplits(runs: readonly RunItem[], choice: string): string[] {
  const [first, ...others] = runs.map(({ splits }) => splits.map(({ name }) => name));
  return (first ?? []).filter((name) => isOf(name, choice) && others.every((names) => names.includes(name)));
}

/** A key that changes when one of the runs changes. */
export const versionOf = (runs: readonly RunItem[]): string => runs.map(({ version }) => version).join(" ");

/** The number of table rows to request: fewer with many runs, since each run is a column. */
export const rowsFor = (runs: number): number => Math.max(20, Math.min(100, Math.floor(2000 / Math.max(1, runs))));

/** How many of all shared prompts gain, lose and stay the same from the first run to the last: `1 prompt gains, …`. */
export function changesOf({ gain, lose, stay }: Pick<SharedPromptsReply, "gain" | "lose" | "stay">): string {
  const verb = (number: number, one: string): string => (number === 1 ? `${one}s` : one);
  const gained = `${count(gain, "prompt")} ${verb(gain, "gain")}`;
  const others = `${figure(lose)} ${verb(lose, "lose")} and ${figure(stay)} ${verb(stay, "stay")} the same`;
  return `${gained}, ${others}, of ${figure(gain + lose + stay)}`;
}
