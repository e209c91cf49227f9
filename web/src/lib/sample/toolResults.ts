/** Finds which turn answers which tool calls: by the ids of the calls, otherwise by their order. */

import type { TurnView } from "../../api/types.gen";
import { isRecord } from "../data/record";

/**
 * For each call, by the name of its part (`12.3`), the number of the turn with its result. `from` is the number of the
 * first turn.
 */
export function results(turns: readonly TurnView[], from: number): ReadonlyMap<string, number> {
  const result = new Map<string, number>();
  let open: { at: string; id: string }[] = [];
  for (const [i, turn] of turns.entries()) {
    const calls = turn.parts.flatMap((part, place) =>
      part.kind === "tool_call" ? [{ at: `${from + i}.${place}`, id: part.call?.id ?? "" }] : [],
    );
    if (calls.length > 0) open = calls;
    else if (turn.role === "tool") {
      // A result that names unknown calls belongs to none; one that names nothing belongs to the next call.
      const ids = open.some((call) => call.id === turn.tool_call_id)
        ? [turn.tool_call_id]
        : turn.tool_call_id.split(", ");
      const named = ids.flatMap((id) => open.find((call) => id !== "" && call.id === id) ?? []);
      const isNext = turn.tool_call_id === "" || open.every((call) => call.id === "");
      const answered = named.length > 0 ? named : open.slice(0, isNext ? 1 : 0);
      for (const call of answered) result.set(call.at, from + i);
      open = open.filter((call) => !answered.includes(call));
    } else if (turn.role === "user") open = [];
  }
  return result;
}

/** The error that a message reports: a sentence, or just the word. */
export function errorOf(logs: unknown): string {
  if (!isRecord(logs)) return "";
  const { error, is_error: isError } = logs;
  if (typeof error === "string") return error;
  return error || isError === true || isError === "true" ? "error" : "";
}
