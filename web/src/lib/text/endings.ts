/** Special tokens at the end of a text: they show that the model stopped, and are not part of its answer. */

import type { PartView, TurnView } from "../../api/types.gen";

/** Longer words in brackets are text. */
const MOST_CHARS = 64;
/** `<|im_end|>`, `<｜end▁of▁sentence｜>`, `</s>`, `<eos>`, `[EOS]`, and padding tokens. */
const TOKENS = [
  String.raw`<\|[^|<>\s]{1,40}\|>`,
  String.raw`<｜[^｜<>\s]{1,40}｜>`,
  "</s>",
  "<(?:eos|bos|pad|EOS|PAD|end_of_turn|end_of_text|endoftext)>",
  String.raw`\[(?:EOS|PAD|eos|pad)\]`,
];
const TOKEN = new RegExp(`(?:${TOKENS.join("|")})$`);

/**
 * A text without the special tokens at its end, and without the blanks around them. A text that ends with words stays
 * as it is.
 */
export function withoutEnding(text: string): string {
  let rest = text.trimEnd();
  for (let token = TOKEN.exec(rest.slice(-MOST_CHARS)); token !== null; token = TOKEN.exec(rest.slice(-MOST_CHARS))) {
    rest = rest.slice(0, -token[0].length).trimEnd();
  }
  return rest;
}

const isText = ({ kind, text }: PartView): boolean => kind === "text" && withoutEnding(text) !== "";

/** The place of the last part of a turn with words, and its remaining text; -1 without such a part. */
export function lastWords(parts: readonly PartView[]): { place: number; text: string } {
  const place = parts.findLastIndex((part) => part.kind !== "marker" && (part.kind !== "text" || isText(part)));
  const last = parts[place];
  if (last === undefined) return { place: -1, text: "" };
  return { place, text: last.kind === "text" && last.cut === 0 ? withoutEnding(last.text) : last.text };
}

/** The number of characters in a turn, without template markers and special tokens at its end. */
export function charsOfTurn({ chars, parts }: TurnView): number {
  const { place, text } = lastWords(parts);
  return parts.reduce((offset, part, i) => {
    const length = (part.raw ?? part.text).length;
    if (part.kind === "marker" || i > place) return offset - length;
    return i === place ? offset - (part.text.length - text.length) : offset;
  }, chars);
}
