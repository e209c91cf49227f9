/** Finds which turn answers which tool calls: by the ids of the calls, otherwise by their order. */

import type { TurnView } from "../../api/types.gen";
import { isRecord } from "../data/record";

interface Call {
  at: string;
  id: string;
}

/**
 * For each call, by the name of its part (`12.3`), the number of the turn with its result. `from` is the number of the
 * first turn.
 *
 * A call with an id waits for its result, whatever comes between; if an id occurs again, the later call waits.
 */
export function results(turns: readonly TurnView[], from: number): ReadonlyMap<string, number> {
  const result = new Map<string, number>();
  const waiting = new Map<string, { calls: Call[]; turn: number }>();
  let unnamed: Call[] = [];
  let last: Call[] = [];
  for (const [i, turn] of turns.entries()) {
    const calls = turn.parts.flatMap((part, place) =>
      part.kind === "tool_call" ? [{ at: `${from + i}.${place}`, id: part.call?.id ?? "" }] : [],
    );
    if (calls.length > 0) {
      for (const call of calls) {
        const others = waiting.get(call.id);
        if (others?.turn === i) others.calls.push(call);
        else waiting.set(call.id, { calls: [call], turn: i });
      }
      last = calls;
      unnamed = calls.every((call) => call.id === "") ? [...calls] : [];
    } else if (turn.role === "tool") {
      // A result that names unknown calls belongs to none; one that names nothing belongs to the next call.
      const ids =
        turn.tool_call_id === "" || waiting.has(turn.tool_call_id)
          ? [turn.tool_call_id]
          : turn.tool_call_id.split(", ");
      const named = ids.flatMap((id) => (id === "" ? [] : (waiting.get(id)?.calls.splice(0, 1) ?? [])));
      const next = turn.tool_call_id === "" ? last.find((call) => !result.has(call.at)) : unnamed.shift();
      const answered = named.length > 0 ? named : next === undefined ? [] : [next];
      for (const call of answered) result.set(call.at, from + i);
    } else if (turn.role === "user") {
      last = [];
      unnamed = [];
    }
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
