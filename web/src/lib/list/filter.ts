/** Filters as text: builds conditions, quotes their values for the server, and joins them. */

const PLAIN = /^[^\s<>=!"'(),]+$/;
const NUMBER = /^([+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?|[+-]?(inf|infinity)|nan)$/i;
const WORDS: ReadonlySet<string> = new Set(["and", "or", "not", "in", "is", "contains", "null"]);

/** Quotes a name or a text, so that the server reads exactly that text. */
export function quoted(text: string): string {
  return PLAIN.test(text) && !NUMBER.test(text) && !WORDS.has(text.toLowerCase())
    ? text
    : `"${text.replaceAll('"', '""')}"`;
}

/**
 * `column operator value`; null stands for no value. Numbers that JSON lacks arrive as texts, so `isNumber` says
 * whether the column has numbers.
 */
export function condition(
  column: string,
  operator: "=" | "!=" | "<=" | ">=",
  value: number | string | null,
  isNumber: boolean,
): string {
  if (value === null || value === "") return `${quoted(column)} is ${operator === "=" ? "" : "not "}null`;
  const words = isNumber ? String(value) : quoted(String(value));
  return `${quoted(column)} ${operator} ${words}`;
}

/** The filter for samples with this trained token. A one-line field has no line breaks: `↵` replaces each. */
export const hasToken = (text: string): string => `token "${text.replaceAll("\n", "↵").replaceAll('"', '""')}"`;

/** A filter with one more condition. */
export function narrowed(where: string, more: string): string {
  const text = where.trim();
  if (text === "") return more;
  return /\bor\b/i.test(text) ? `(${text}) and ${more}` : `${text} and ${more}`;
}

const NAME = /("(?:[^"]|"")*"|[^\s<>=!"'(),]+)(\s*(?:[<>=!]|(?:in|is|not|contains)\b))?/gi;

/** A name or a value without the quotes of a filter. */
export const unquoted = (word: string): string =>
  word.startsWith('"') ? word.slice(1, -1).replaceAll('""', '"') : word;

/** The names that a filter compares, in their order. */
export function namesIn(where: string): string[] {
  const plain = where.replaceAll(/'(?:[^']|'')*'/g, "''");
  const compared = [...plain.matchAll(NAME)].filter(([, , operator]) => operator !== undefined);
  const names = compared.map(([, name = ""]) => unquoted(name));
  return [...new Set(names)];
}

/** True if only discarded samples can match a filter: it requires a reason, with no alternative. */
export function asksForReason(where: string): boolean {
  const bareText = where.replaceAll(/"(?:[^"]|"")*"|'(?:[^']|'')*'/g, (text) =>
    text.slice(1, -1) === "discarded" ? " discarded " : ' "" ',
  );
  const plain = bareText.replaceAll(/\bdiscarded\s+is\s+not\s+null\b/gi, "discarded = any");
  return /(^|[\s(])discarded\s*(=|in\s*\(|contains\s)/i.test(plain) && !/(^|[\s(])(or|not)($|[\s(])/i.test(plain);
}
