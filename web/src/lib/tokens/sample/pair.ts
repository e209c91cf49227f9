/** Two samples beside each other: how many tokens they begin with are the same, and their stretches from there. */

import { figure } from "../../numbers/numbers";
import type { Segment } from "./segments";
import type { TokenSample } from "./tokenSample";

/** The number of tokens that both begin with, by ids, else by strings; null if the records have neither in common. */
export function sharedTokens(one: TokenSample, other: TokenSample): number | null {
  const isSame = sameToken(one, other);
  if (isSame === null) return null;
  const most = Math.min(one.count, other.count);
  let token = 0;
  while (token < most && isSame(token)) token += 1;
  return token;
}

function sameToken(one: TokenSample, other: TokenSample): ((token: number) => boolean) | null {
  if (one.hasIds && other.hasIds) return (token) => one.id(token) === other.id(token);
  return one.hasText && other.hasText ? (token) => one.raw(token) === other.raw(token) : null;
}

/** The stretches of a sample behind one of all that it shares, which can be folded. */
export function behind(shared: number, segments: readonly Segment[]): Segment[] {
  if (shared === 0) return [...segments];
  const same = { from: 0, stop: shared, role: "the same in both", isModel: false };
  const [first, ...rest] = segments.filter(({ stop }) => stop > shared);
  return first === undefined ? [same] : [same, { ...first, from: Math.max(shared, first.from) }, ...rest];
}

/** Where two samples part, in words. */
export function partingWords(shared: number | null, one: number, other: number): string {
  if (shared === null) return "The records have neither token ids nor strings in common, so nothing is compared.";
  if (shared === one && shared === other) return "Both have the same tokens.";
  if (shared === 0) return "They differ from the first token on.";
  const last = figure(shared - 1);
  if (shared === one)
    return `This one ends after token ${last}; the other one begins with the same tokens and goes on.`;
  if (shared === other)
    return `The other one ends after token ${last}; this one begins with the same tokens and goes on.`;
  return `The first difference is at token ${figure(shared)}; the tokens before are the same in both.`;
}
