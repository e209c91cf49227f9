/** Short forms of large numbers: `12.3K`. The first `Intl.NumberFormat` of a page would take 20 ms of its start. */

const UNITS = ["", "K", "M", "B", "T"] as const;

/** At most `digits` significant digits, and the letter of the thousands. */
export function compact(value: number, digits: number): string {
  let [rest, unit] = [Number(value.toPrecision(digits)), 0];
  while (Math.abs(rest) >= 1000 && unit < UNITS.length - 1) [rest, unit] = [rest / 1000, unit + 1];
  return `${Number(rest.toPrecision(digits))}${UNITS[unit] ?? ""}`;
}
