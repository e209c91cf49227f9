/** Numbers as they cross the wire, and as people read them. */

import type { WireNumber } from "../../api/types.gen";
import { compact } from "./compact";

const MINUS = "\u2212";
const NON_FINITE: ReadonlyMap<string, number> = new Map([
  ["NaN", NaN],
  ["Infinity", Infinity],
  ["-Infinity", -Infinity],
]);
const DIGITS = /^-?\d+$/;

/** Read a number off the wire; null for none, and for an invalid one. Beyond 2**53, digits are lost. */
export function toNumber(value: WireNumber | undefined): number | null {
  if (value === null || value === undefined) return null;
  if (typeof value === "number") return value;
  return NON_FINITE.get(value) ?? (DIGITS.test(value) ? Number(value) : null);
}

/** The whole number that a person typed or copied from the page (`1,200`); null for anything else, and beyond 2**53. */
export function whole(text: string): number | null {
  const digits = text
    .trim()
    .replaceAll(/,(?=\d{3})/g, "")
    .replace(MINUS, "-");
  return DIGITS.test(digits) && Number.isSafeInteger(Number(digits)) ? Number(digits) : null;
}

/**
 * The place between two numbers, 0 at `low` and 1 at `high`. If their distance would overflow, it halves them first.
 */
export function placeBetween(value: number, low: number, high: number): number {
  const width = high - low;
  return Number.isFinite(width) ? (value - low) / width : (value / 2 - low / 2) / (high / 2 - low / 2);
}

/** The number if it is finite, else null. */
export function finite(value: WireNumber | undefined): number | null {
  const number = toNumber(value);
  return number !== null && Number.isFinite(number) ? number : null;
}

/** Whole numbers exactly, with separated thousands, others with three significant figures; `none` for no number. */
export function figure(value: WireNumber | undefined, none = ""): string {
  if (value === null || value === undefined) return none;
  if (typeof value === "string") return named(value);
  if (Number.isInteger(value) && Math.abs(value) <= Number.MAX_SAFE_INTEGER) return minus(grouped(String(value)));
  return significant(value);
}

/** The rounding error of sums of rewards that should be zero. */
const NOISE = 1e-13;

/** A score in a column: always with three significant figures, so that 1 is `1.00`, aligned with 0.25. */
export function score(value: WireNumber | undefined, none = ""): string {
  const number = toNumber(value);
  if (number === null) return typeof value === "string" ? value : none;
  if (Math.abs(number) < NOISE) return significant(0);
  return Number.isInteger(number) && Math.abs(number) >= 100 ? figure(number) : significant(number);
}

/** The same with its sign, for values around zero. */
export function signed(value: WireNumber | undefined, none = ""): string {
  const number = toNumber(value);
  return number !== null && number > 0 ? `+${score(value)}` : score(value, none);
}

/** All digits: for titles, and for copying. */
export function exact(value: WireNumber | undefined): string {
  return value === null || value === undefined ? "none" : String(value);
}

/** Five significant figures, for a value shown on its own. */
export function fine(value: number): string {
  if (Number.isInteger(value) && Math.abs(value) >= 1e5) return figure(value);
  return significant(value, 5);
}

function significant(value: number, figures = 3): string {
  if (!Number.isFinite(value)) return named(String(value));
  if (value === 0) return "0.00";
  const magnitude = Math.abs(value);
  if (magnitude >= 1e9 || magnitude < 1e-4) return minus(value.toExponential(figures - 1).replace("e+", "e"));
  if (magnitude >= 10 ** (figures - 1)) return minus(grouped(value.toFixed(0)));
  return minus(plain(value, figures));
}

/** A number of significant figures, without an exponent. */
function plain(value: number, figures: number): string {
  const rounded = Number(value.toPrecision(figures));
  const places = figures - 1 - Math.floor(Math.log10(Math.abs(rounded)));
  return rounded.toFixed(Math.max(0, places));
}

function named(value: string): string {
  if (value === "Infinity") return "inf";
  if (value === "-Infinity") return `${MINUS}inf`;
  return DIGITS.test(value) ? minus(grouped(value)) : value;
}

function grouped(digits: string): string {
  return digits.replace(/\B(?=(\d{3})+$)/g, ",");
}

function minus(text: string): string {
  return text.replaceAll("-", MINUS);
}

/** Two significant figures, for narrow places: `1.2K`. */
export function brief(value: number): string {
  const far = Math.abs(value);
  if (value !== 0 && (far < 1e-3 || far >= 1e15)) return minus(value.toExponential(0).replace("+", ""));
  return minus(compact(value, 2));
}

const UNITS = ["B", "kB", "MB", "GB", "TB"];

/** A size in bytes with its unit: `1.23 MB`. */
export function size(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 999.5 && unit < UNITS.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${unit === 0 ? figure(value) : figure(Number(value.toPrecision(3)))} ${UNITS[unit] ?? "B"}`;
}

/** `1 step`, `12 steps`, `1,200 steps`. */
export function count(number: number, one: string, many = `${one}s`): string {
  return `${figure(number)} ${number === 1 ? one : many}`;
}
