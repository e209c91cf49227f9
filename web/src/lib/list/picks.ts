/** Values of a column that a filter asks for: read from its text, and written into it. */

import { narrowed, quoted } from "./filter";

const VALUE = String.raw`"(?:[^"]|"")*"|[^\s<>=!"'(),]+`;

const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);

/** A condition of the column that nothing but `and` joins to the rest. */
const conditionOf = (column: string): RegExp => {
  const values = String.raw`= (${VALUE})|in \(((?:${VALUE})(?:, (?:${VALUE}))*)\)`;
  return new RegExp(String.raw`(^| and )${escaped(quoted(column))} (?:${values})(?= and |$)`);
};

/** The values that a filter asks for, as filters write them; none if it does not limit the column. */
export function picksIn(where: string, column: string): string[] {
  const [, , only, several] = conditionOf(column).exec(where.trim()) ?? [];
  return only !== undefined ? [only] : [...(several ?? "").matchAll(new RegExp(VALUE, "g"))].map(([value]) => value);
}

/** The filter that asks for these values of the column, whichever it asked for before. */
export function withPicks(where: string, column: string, values: readonly string[]): string {
  const [only] = values;
  const wanted = values.length === 1 ? `= ${only}` : `in (${values.join(", ")})`;
  const text = where.trim();
  const before = conditionOf(column).exec(text);
  if (before === null) return values.length === 0 ? text : narrowed(text, `${quoted(column)} ${wanted}`);
  const [whole, joint] = before;
  const after = text.slice(before.index + whole.length);
  const rest = text.slice(0, before.index);
  if (values.length > 0) return `${rest}${joint}${quoted(column)} ${wanted}${after}`;
  return rest === "" ? after.replace(/^ and /, "") : rest + after;
}
