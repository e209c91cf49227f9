/** Two samples side by side: the number of equal tokens at their start, and their stretches from there. */

import { figure } from "../../numbers/numbers";
import type { Segment } from "./segments";
import type { TokenSample } from "./tokenSample";

/**
 * The number of equal tokens at the start, after the padding, by ids, else by strings; null if the records share
 * neither.
 */
export function sharedTokens(one: TokenSample, other: TokenSample): number | null {
  const isSame = sameToken(one, other);
  if (isSame === null) return null;
  const most = Math.min(one.count - one.first, other.count - other.first);
  let token = 0;
  while (token < most && isSame(token)) token += 1;
  return token;
}

function sameToken(one: TokenSample, other: TokenSample): ((place: number) => boolean) | null {
  const isSame = (of: (tokens: TokenSample, token: number) => unknown) => (place: number) =>
    of(one, one.first + place) === of(other, other.first + place);
  if (one.hasIds && other.hasIds) return isSame((tokens, token) => tokens.id(token));
  return one.hasText && other.hasText ? isSame((tokens, token) => tokens.raw(token)) : null;
}

/** The stretches of a sample, after a foldable one for the shared tokens. */
export function behind(shared: number, { first, segments }: Pick<TokenSample, "first" | "segments">): Segment[] {
  if (shared === 0) return [...segments];
  const stop = first + shared;
  const same = { from: first, stop, role: "the same in both", isModel: false };
  const [next, ...rest] = segments.filter((segment) => segment.stop > stop);
  return next === undefined ? [same] : [same, { ...next, from: Math.max(stop, next.from) }, ...rest];
}

type Extent = Pick<TokenSample, "first" | "count">;

/** The first difference of two samples, in words. */
export function partingWords(shared: number | null, one: Extent, other: Extent): string {
  if (shared === null) return "The records have neither token ids nor strings in common, so nothing is compared.";
  const [isEnd, isOtherEnd] = [one, other].map(({ first, count }) => first + shared === count);
  if (isEnd && isOtherEnd) return "Both have the same tokens.";
  if (shared === 0) return "They differ from the first token on.";
  const last = figure(one.first + shared - 1);
  if (isEnd) return `This one ends after token ${last}; the other one begins with the same tokens and goes on.`;
  if (isOtherEnd) return `The other one ends after token ${last}; this one begins with the same tokens and goes on.`;
  return `The first difference is at token ${figure(one.first + shared)}; the tokens before are the same in both.`;
}
