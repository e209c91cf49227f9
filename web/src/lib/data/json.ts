/** Lays out JSON text for reading. Works on the text, so no number and no escape changes. */

const MAX_DEPTH = 100;
const SPACE = " \t\r\n";
const OPEN = "{[";
const CLOSE = "}]";
/** Matches an array of plain numbers and words, after its bracket. */
const FLAT = /[^"[\]{}]*\]/y;

/** Indent JSON by two spaces for each level; arrays of numbers stay on one line. Other text stays unchanged. */
export function indented(text: string): string {
  const out: string[] = [];
  let depth = 0;
  let at = 0;
  const newline = (): string => `\n${"  ".repeat(Math.min(depth, MAX_DEPTH))}`;
  while (at < text.length) {
    const sign = text.charAt(at);
    const end = tokenEnd(text, at);
    if (end < 0) return text;
    if (OPEN.includes(sign)) {
      const next = past(text, end);
      if (CLOSE.includes(text.charAt(next)) && next < text.length) {
        out.push(sign, text.charAt(next));
        at = past(text, next + 1);
        continue;
      }
      FLAT.lastIndex = end;
      if (sign === "[" && FLAT.test(text)) {
        const values = text.slice(end, FLAT.lastIndex - 1).split(",");
        out.push("[", values.map((value) => value.trim()).join(", "), "]");
        at = past(text, FLAT.lastIndex);
        continue;
      }
      depth += 1;
      out.push(sign, newline());
    } else if (CLOSE.includes(sign)) {
      depth -= 1;
      if (depth < 0) return text;
      out.push(newline(), sign);
    } else if (sign === ",") out.push(",", newline());
    else if (sign === ":") out.push(": ");
    else out.push(text.slice(at, end));
    at = past(text, end);
  }
  return depth === 0 ? out.join("") : text;
}

/** The first place from `at` on without white space. */
function past(text: string, at: number): number {
  let place = at;
  while (place < text.length && SPACE.includes(text.charAt(place))) place += 1;
  return place;
}

/** Where the token that begins at `at` ends; -1 for a string without an end. */
function tokenEnd(text: string, at: number): number {
  const sign = text.charAt(at);
  if (sign === '"') return stringEnd(text, at);
  if ("{}[],:".includes(sign)) return at + 1;
  let place = at + 1;
  while (place < text.length && !'{}[],:"'.includes(text.charAt(place)) && !SPACE.includes(text.charAt(place)))
    place += 1;
  return place;
}

function stringEnd(text: string, at: number): number {
  for (let place = at + 1; place < text.length; place += 1) {
    const code = text.charCodeAt(place);
    if (code === 92) place += 1;
    else if (code === 34) return place + 1;
  }
  return -1;
}

/** A value as text: strings as they are, anything else as indented JSON. */
export function shown(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? "null");
}
