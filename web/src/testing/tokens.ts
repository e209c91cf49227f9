/** Tokens for tests. */

import type { TokenPage } from "../api/tokens";
import type { MaskRuleInfo, TokensHeader, UpdateRuleInfo } from "../api/types.gen";
import type { TurnRole } from "../lib/tokens/sample/segments";
import { TokenSample } from "../lib/tokens/sample/tokenSample";

interface Given {
  /** The strings of the tokens; null for a record of ids alone. */
  text?: readonly string[] | null;
  ids?: readonly number[] | null;
  turn?: readonly number[];
  series?: Readonly<Record<string, readonly number[]>>;
  rules?: readonly MaskRuleInfo[];
  updates?: readonly UpdateRuleInfo[];
  spelling?: TokensHeader["spelling"];
  hasAlternatives?: boolean;
  partial?: TokensHeader["partial"];
}

/** A page as the server sends it. Tokens without a turn are of the first. */
export function tokenPage({ text = null, ids = null, turn, series = {}, ...given }: Given): TokenPage {
  const [first] = Object.values(series);
  const count = text?.length ?? ids?.length ?? turn?.length ?? first?.length ?? 0;
  const places = new Int32Array(count).fill(-1);
  return {
    id: "train/1/0/0",
    total: count,
    start: 0,
    count,
    ids: ids === null ? null : Int32Array.from(ids),
    spans: { turn: Int32Array.from(turn ?? new Int32Array(count)), part: places, start: places, stop: places },
    series: new Map(
      Object.entries(series).map(([name, values]) => [
        name,
        { name, title: name, about: "", origin: "recorded", scale: "linear", values: Float64Array.from(values) },
      ]),
    ),
    rules: given.rules ?? [],
    updates: given.updates ?? [],
    spelling: given.spelling ?? "plain",
    hasAlternatives: given.hasAlternatives ?? false,
    partial: given.partial ?? {},
    text: text === null ? null : (place) => text[place] ?? "",
  };
}

const ASSISTANT: TurnRole = { role: "assistant", origin: "response" };

/** The same as a whole sample; by default the model wrote all of it. */
export const tokenSample = (given: Given, turns: readonly TurnRole[] = [ASSISTANT]): TokenSample =>
  new TokenSample([tokenPage(given)], (turn) => turns[turn] ?? null);
