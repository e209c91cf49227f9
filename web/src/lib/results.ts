/** Which turn answers which call of a tool: by the id of the call, else in the order in which they stand. */

import type { TurnView } from "../api/types.gen";

/** For each call, by the name of its part (`12.3`), the number of the turn that holds its result. `from` numbers the first turn. */
export function results(turns: readonly TurnView[], from: number): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  let open: { at: string; id: string }[] = [];
  for (const [i, turn] of turns.entries()) {
    const calls = turn.parts.flatMap((part, place) => (part.kind === "tool_call" ? [{ at: `${from + i}.${place}`, id: part.call?.id ?? "" }] : []));
    if (calls.length > 0) open = calls;
    else if (turn.role === "tool") {
      const named = turn.tool_call_id === "" ? -1 : open.findIndex((call) => call.id === turn.tool_call_id);
      // A result that names a call which is not there belongs to none; one that names nothing, to the next call.
      const which = named >= 0 ? named : turn.tool_call_id === "" || open.every((call) => call.id === "") ? 0 : -1;
      const [call] = which < 0 ? [] : open.splice(which, 1);
      if (call !== undefined) found.set(call.at, from + i);
    } else if (turn.role === "user") open = [];
  }
  return found;
}

/** What a message says of an error of its own: a sentence, or only that there is one. */
export function errorOf(logs: unknown): string {
  if (typeof logs !== "object" || logs === null) return "";
  const { error, is_error: isError } = logs as { error?: unknown; is_error?: unknown };
  if (typeof error === "string") return error;
  return error || isError === true || isError === "true" ? "error" : "";
}
