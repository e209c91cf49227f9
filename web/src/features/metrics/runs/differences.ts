/** The differences between the configuration of a run and those of the others, in a line. */

import type { ConfigTable } from "../../../api/types.gen";
import { harmless } from "../../../lib/text/invisible";

/** The most differing keys in the line; hovering shows all of them. */
const MOST = 3;
/** Longer values, such as prompts and paths, would take the room of all others. */
const SHORT_CHARS = 16;
/** Keys that differ between any two runs, and say little about an experiment. */
const NAMING = /(?:^|[._/-])(?:seed|file|id|time|date|host|port|output|user)(?:$|[._/-])|(?:dir|path|name)$/i;

interface Differences {
  /** The most telling ones. */
  short: string;
  /** All of them, a line each. */
  whole: string;
}

/** The differences of one run; null without a configuration, or if nothing differs. */
export function differencesOf({ runs, rows, without }: ConfigTable, run: string): Differences | null {
  const at = runs.indexOf(run);
  const differing = rows.filter(({ key, differs }) => differs && key !== "");
  if (without.includes(run)) return { short: "no configuration", whole: "Rolloupe can read no configuration of it" };
  if (at < 0 || differing.length === 0) return null;
  const isShort = ({ values }: { values: readonly (string | null)[] }): boolean =>
    values.every((value) => brief(value).length <= SHORT_CHARS);
  const telling = differing.filter(({ key }) => !NAMING.test(key));
  const short = (telling.length > 0 ? telling : differing).filter(isShort).slice(0, MOST);
  const keys = differing.map(({ key }) => key);
  const words = (name: string, value: string | null | undefined): string => harmless(`${name} ${value ?? "–"}`);
  return {
    short: short.map(({ key, values }) => words(shortest(key, keys), brief(values[at]))).join(" · "),
    whole: differing.map(({ key, values }) => words(key, values[at])).join("\n"),
  };
}

/** A value in few digits: 0.30000000000000004 becomes 0.3. */
function brief(value: string | null | undefined): string {
  const number = Number(value);
  const isLong = /\d{6}/.test(value ?? "") && !Number.isInteger(number) && Number.isFinite(number);
  return isLong ? String(Number(number.toPrecision(4))) : (value ?? "–");
}

/** The last parts of a key, as many as distinguish it from the others. */
function shortest(key: string, keys: readonly string[]): string {
  const parts = key.split(".");
  for (let count = 1; count < parts.length; count++) {
    const end = parts.slice(-count).join(".");
    if (keys.filter((one) => one === end || one.endsWith(`.${end}`)).length === 1) return end;
  }
  return key;
}
