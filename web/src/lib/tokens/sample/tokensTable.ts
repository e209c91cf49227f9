/** All tokens of a sample with every series, in the columns of `rolloupe tokens --csv`, without alternatives. */

import type { TokenSample } from "./tokenSample";

const OWN = ["position", "id", "text", "role", "mask"];
/** Texts that a spreadsheet takes for a formula. */
const FORMULA = /^[=+\-@\t\r\n]/;

/** A header, and a line for each token but padding; between commas or tabs. */
export function tokensTable(tokens: TokenSample, between: "," | "\t"): string {
  const lines = [[...OWN, ...tokens.series.map(({ name }) => harmless(name))]];
  for (const { from, stop, role } of tokens.segments)
    for (let token = from; token < stop; token += 1)
      lines.push([
        String(token),
        String(tokens.id(token) ?? ""),
        harmless(tokens.text(token) ?? ""),
        harmless(role),
        String(tokens.trained[token] === 1),
        ...tokens.series.map(({ values }) => value(values[token])),
      ]);
  return lines.map((fields) => `${fields.map((field) => quoted(field, between)).join(between)}\r\n`).join("");
}

const value = (number = NaN): string => (Number.isNaN(number) ? "" : String(number));

const harmless = (text: string): string => (FORMULA.test(text) ? `'${text}` : text);

const quoted = (field: string, between: string): string =>
  field.includes(between) || /["\r\n]/.test(field) ? `"${field.replaceAll('"', '""')}"` : field;
