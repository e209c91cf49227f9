/** Padding at either end of a sample, which the page hides: how it is recognised, and which tokens it covers. */

/** The ways to recognise padding, in order of precedence. */
export type PaddingBy = "attention mask" | "recorded pad token" | "pad token of the settings" | "guess";

export interface Padding {
  /** The first token after the padding at the start. */
  first: number;
  /** The first token of the padding at the end, or the number of tokens. */
  stop: number;
  by: PaddingBy;
}

/** The pad token of the record, and that of the reader. */
export interface PadTokens {
  recorded: number | string | null;
  /** A pad token as text, an id or a string; empty for none. */
  chosen: string;
}

export const NO_PAD: PadTokens = { recorded: null, chosen: "" };

export interface PaddedTokens {
  total: number;
  id: (token: number) => number | null;
  /** The string of a token in the record; null without one. */
  string: (token: number) => string | null;
  attentionMask: Float64Array | null;
  /** Null without a mask. */
  lossMask: Float64Array | null;
  /** True if some series has a value at the token, other than a mask. */
  hasValue: (token: number) => boolean;
}

const PAD = /^(<\|?_?pad_?\|?>|\[PAD\]|<PAD>|<\|endoftext\|>|<\|finetune_right_pad_id\|>)$/i;

export function paddingOf(tokens: PaddedTokens, { recorded, chosen }: PadTokens): Padding {
  const { total, attentionMask, lossMask } = tokens;
  // The end of a response may have the same id as padding; it is under the loss mask.
  const isTrained = (token: number): boolean => (lossMask?.[token] ?? 0) > 0;
  const isPad = (pad: string) => (token: number) =>
    !isTrained(token) && (String(tokens.id(token)) === pad || tokens.string(token) === pad);
  if (attentionMask !== null)
    return reach(total, "attention mask", (token) => attentionMask[token] === 0 && !isTrained(token));
  if (recorded !== null) return reach(total, "recorded pad token", isPad(String(recorded)));
  if (chosen !== "") return reach(total, "pad token of the settings", isPad(chosen));
  const isNamed = (token: number): boolean => !tokens.hasValue(token) && PAD.test(tokens.string(token) ?? "");
  return reach(total, "guess", isNamed, (token) => isNamed(token) || isRepeated(tokens, token));
}

/** A sample is never all padding. */
function reach(
  total: number,
  by: PaddingBy,
  atStart: (token: number) => boolean,
  atEnd: (token: number) => boolean = atStart,
): Padding {
  let [first, stop] = [0, total];
  while (stop > 0 && atEnd(stop - 1)) stop -= 1;
  while (first < stop && atStart(first)) first += 1;
  return stop === 0 ? { first: 0, stop: total, by } : { first, stop, by };
}

/** True for a token without a value that equals the last one, if there are several such tokens. */
function isRepeated(tokens: PaddedTokens, token: number): boolean {
  const last = tokens.total - 1;
  const isSame = (one: number, other: number): boolean =>
    one >= 0 && tokens.id(one) === tokens.id(other) && tokens.string(one) === tokens.string(other);
  if (tokens.hasValue(token) || (tokens.id(token) === null && (tokens.string(token) ?? "") === "")) return false;
  return (token < last || isSame(token - 1, token)) && isSame(token, last);
}

/** The hidden padding, in words; empty for none. */
export function paddingWords({ first, stop, by }: Padding, total: number): string {
  const parts = [first === 0 ? "" : `${first} at the start`, stop === total ? "" : `${total - stop} at the end`];
  const words = parts.filter((part) => part !== "").join(" and ");
  const why = by === "guess" ? "they look like padding" : `padding by the ${by}`;
  return words === "" ? "" : `${words} left out: ${why}`;
}
