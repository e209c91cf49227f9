/**
 * Makes invisible characters visible: newlines, tabs, controls, and characters without width or with an effect on
 * direction.
 */

const HIDDEN = new RegExp(
  "[\\u0000-\\u001f\\u007f-\\u00a0\\u00ad\\u061c\\u180e\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f" +
    "\\ufeff\\ufff9-\\ufffb\\u{e0000}-\\u{e007f}]",
  "gu",
);

function shown(sign: string): string {
  const code = sign.codePointAt(0) ?? 0;
  if (code === 10) return "↵\n";
  if (code === 9) return "→\t";
  if (code < 32) return String.fromCharCode(0x2400 + code);
  if (code === 127) return "␡";
  return code === 0xa0 ? "⍽" : `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
}

/** The text with marks for all its hidden characters. */
export function visible(text: string): string {
  return text.replaceAll(HIDDEN, shown);
}

/** White space that looks like a plain space, and the hyphen that shows only at the end of a line. */
const PLAIN: ReadonlySet<string> = new Set(["\n", "\t", "\u00a0", "\u00ad"]);

/**
 * A text for places where no element isolates it (a tooltip, an option, the title of the tab): characters that affect
 * direction are made visible.
 */
export function harmless(text: string): string {
  return text.replaceAll(HIDDEN, (sign) => (PLAIN.has(sign) ? sign : shown(sign)));
}

/** The place in the output of `visible` for a place in a text. */
export function visiblePlace(text: string, place: number): number {
  return visible(text.slice(0, place)).length;
}

const TOKENS = [
  String.raw`<\|[^|<>\n]{1,48}\|>`,
  String.raw`<｜[^｜\n]{1,48}｜>`,
  "</?s>",
  "<(?:start|end)_of_(?:turn|image)>",
  "<[be]os>",
  "</?(?:think|tool_call|tool_response|answer)>",
  String.raw`\[/?(?:INST|THINK|TOOL_CALLS|TOOL_RESULTS|SYSTEM_PROMPT|AVAILABLE_TOOLS)\]`,
];
const SPECIAL = new RegExp(TOKENS.join("|"), "g");
const MAX_SPECIAL = 2000;

/** The places of special tokens of chat templates in a text. */
export function specials(text: string): { start: number; stop: number }[] {
  const result: { start: number; stop: number }[] = [];
  for (const match of text.matchAll(SPECIAL)) {
    result.push({ start: match.index, stop: match.index + match[0].length });
    if (result.length >= MAX_SPECIAL) break;
  }
  return result;
}
