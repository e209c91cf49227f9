/** Readable token strings: the spellings of tokenizers become text, and invisible characters get signs. */

import type { TokensHeader } from "../../../api/types.gen";
import { visible } from "../../text/invisible";

/** The spelling of the strings: text, letters for bytes, or `▁` for a blank. */
export type Spelling = TokensHeader["spelling"];

export interface Strings {
  /** The string of a token as it is in the record. */
  at: (token: number) => string;
}

/** A character of UTF-8 takes at most four bytes, so it begins at most three tokens before it ends. */
const MOST_BYTES = 4;
/** The most characters of a token; its card shows more. */
export const SHOWN_CHARS = 200;
const HEX_BYTE = /^<0x([\dA-F]{2})>$/;

/** The byte of each letter in byte-level spelling: printable bytes are themselves, others begin at U+0100. */
const BYTE_OF: ReadonlyMap<string, number> = byteLetters();

function byteLetters(): Map<string, number> {
  const result = new Map<string, number>();
  let others = 0;
  for (let byte = 0; byte < 256; byte += 1) {
    const isPlain = (byte > 32 && byte < 127) || (byte > 160 && byte !== 173);
    result.set(String.fromCharCode(isPlain ? byte : 256 + others), byte);
    if (!isPlain) others += 1;
  }
  return result;
}

/** The bytes of a token in byte-level spelling; null if one of its letters is not in the alphabet. */
function bytesOf(text: string): Uint8Array | null {
  const bytes = new Uint8Array(text.length);
  for (let place = 0; place < text.length; place += 1) {
    const byte = BYTE_OF.get(text.charAt(place));
    if (byte === undefined) return null;
    bytes[place] = byte;
  }
  return bytes;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const strict = new TextDecoder("utf-8", { fatal: true });

/** The bytes that a token adds to the text. */
function added(text: string, spelling: Spelling): Uint8Array {
  if (spelling === "bytes") return bytesOf(text) ?? encoder.encode(text);
  const byte = HEX_BYTE.exec(text)?.[1];
  return byte === undefined ? encoder.encode(text.replaceAll("▁", " ")) : Uint8Array.of(Number.parseInt(byte, 16));
}

/** The number of bytes at the end that begin a character without ending it. */
function openBytes(bytes: Uint8Array): number {
  for (let back = 1; back < MOST_BYTES && back <= bytes.length; back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte < 0x80) return 0;
    if (byte < 0xc0) continue;
    const width = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
    return width > back ? back : 0;
  }
  return 0;
}

/**
 * The text that a token adds: whole characters. A character that several tokens spell belongs to the last of them, and
 * the others add nothing.
 */
export function textOf({ at }: Strings, token: number, spelling: Spelling): string {
  const raw = at(token);
  if (spelling === "plain") return raw;
  const bytes = added(raw, spelling);
  const before = openBefore({ at }, token, spelling);
  const all = new Uint8Array(before.length + bytes.length);
  all.set(before);
  all.set(bytes, before.length);
  return decoder.decode(all.subarray(0, all.length - openBytes(all)));
}

/** The bytes before a token that begin a character. */
function openBefore({ at }: Strings, token: number, spelling: Spelling): Uint8Array {
  let bytes = new Uint8Array();
  for (let back = 1; back < MOST_BYTES && back <= token && bytes.length < MOST_BYTES; back += 1) {
    const more = added(at(token - back), spelling);
    const joined = new Uint8Array(more.length + bytes.length);
    joined.set(more);
    joined.set(bytes, more.length);
    bytes = joined;
  }
  return bytes.subarray(bytes.length - openBytes(bytes));
}

/** The bytes of a token that is not valid text on its own, such as `F0 9F`; empty for others. */
export function partialBytes(raw: string, spelling: Spelling): string {
  const bytes = spelling === "plain" ? new Uint8Array() : added(raw, spelling);
  try {
    strict.decode(bytes);
    return "";
  } catch {
    return Array.from(bytes, (byte) => byte.toString(16).toUpperCase().padStart(2, "0")).join(" ");
  }
}

/** A token in running text: invisible characters have signs, and a very long one is cut. */
export function inFlow(text: string): string {
  return visible(text.length > SHOWN_CHARS ? `${text.slice(0, SHOWN_CHARS)}…` : text);
}

const ESCAPES: ReadonlyMap<string, string> = new Map([
  ["\n", "\\n"],
  ["\r", "\\r"],
  ["\t", "\\t"],
  ["\\", "\\\\"],
  ['"', '\\"'],
]);

/** A token as a string in code: on one line, with nothing invisible. */
export function escaped(text: string): string {
  const safe = text.replaceAll(/[\n\r\t\\"]/g, (sign) => ESCAPES.get(sign) ?? sign);
  return `"${visible(safe)}"`;
}

/** A token in a narrow column: on one line, blanks at its ends as dots. */
export function inColumn(text: string): string {
  return text === ""
    ? "∅"
    : visible(text.replaceAll("\n", "↵")).replaceAll(/^ +| +$/g, (blanks) => "·".repeat(blanks.length));
}
