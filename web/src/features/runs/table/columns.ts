/** The columns of the table of runs: their values and sort keys, and which columns fit side by side. */

import type { ConfigsReply, RunItem, SplitItem, WireNumber } from "../../../api/types.gen";
import { finite, type score } from "../../../lib/numbers/numbers";
import { activityOf } from "../../../state/run/activity";
import { nameOf } from "../../../state/marks";
import { changedS, samplesOf } from "../../../state/runs";

export type Key =
  | "name"
  | "curve"
  | "reward"
  | "steps"
  | "samples"
  | "length"
  | "status"
  | "format"
  | "changed"
  | "metric"
  | `config:${string}`;

export interface Column {
  key: Key;
  label: string;
  title: string;
  px: number;
  isNumber: boolean;
  /** Sorts the greatest, newest or last first at the first press. */
  startsDown: boolean;
  /** The sort key; null without a value. Undefined if the column cannot be sorted. */
  value?: (item: RunItem) => number | string | null;
  /** How its numbers are written, if not as scores. */
  write?: typeof score;
}

/** The order that a press on a heading requests; null for the order of discovery. */
export interface Sort {
  /** The key of a column, if the table has one of this name. */
  key: string;
  isDescending: boolean;
}

/** The values of a run for each key that differs between runs. */
export type Differing = ReadonlyMap<string, ReadonlyMap<string, string>>;

export const NAME_PX = 220;
/** Narrower tables have rows of two lines. */
export const NARROW_PX = 640;
const MAX_CONFIG = 6;
const CONFIG_PX = 96;
/** A column is as wide as its name in the heading, up to this. */
const MOST_CONFIG_PX = 150;
const LETTER_PX = 7;
/** The space around a name in the heading, and the arrow beside it. */
const BESIDE_NAME_PX = 44;
/** Responses without token counts follow those with: characters are another measure. */
const CHARS_AFTER = 1e15;
const DOING = { running: 0, stalled: 1, ended: 2, unknown: null };

/** The split whose rewards and steps represent the run: the one it trains on, else its first. */
export const mainSplit = (item: RunItem): SplitItem | null => item.splits[0] ?? null;

/** The mean reward of the newest step; of a run with metrics alone, the last that the trainer logged. */
export const rewardOf = (item: RunItem): WireNumber => mainSplit(item)?.last_reward ?? item.logged_reward;

export const NAME: Column = {
  key: "name",
  label: "Run",
  title: "The name of the run",
  px: NAME_PX,
  isNumber: false,
  startsDown: false,
  value: nameOf,
};

/** In display order. */
const COLUMNS: readonly Column[] = [
  { key: "curve", label: "Reward by step", title: "Mean reward by step", px: 128, isNumber: false, startsDown: false },
  {
    key: "reward",
    label: "Last reward",
    title: "Mean reward of the newest step",
    px: 112,
    isNumber: true,
    startsDown: true,
    value: (item) => finite(rewardOf(item)),
  },
  {
    key: "steps",
    label: "Steps",
    title: "Number of steps",
    px: 72,
    isNumber: true,
    startsDown: true,
    value: (item) => mainSplit(item)?.steps ?? null,
  },
  {
    key: "samples",
    label: "Samples",
    title: "Samples of all splits",
    px: 100,
    isNumber: true,
    startsDown: true,
    value: samplesOf,
  },
  {
    key: "length",
    label: "Length",
    title: "Mean length of the responses at the newest step",
    px: 100,
    isNumber: true,
    startsDown: true,
    value: lengthOf,
  },
  {
    key: "status",
    label: "Status",
    title: "Whether it is still running",
    px: 104,
    isNumber: false,
    startsDown: false,
    value: (item) => DOING[activityOf(item)],
  },
  {
    key: "format",
    label: "Format",
    title: "Framework that wrote it",
    px: 132,
    isNumber: false,
    startsDown: false,
    value: (item) => item.format,
  },
  {
    key: "changed",
    label: "Changed",
    title: "When its files last changed",
    px: 96,
    isNumber: true,
    startsDown: true,
    value: (item) => negative(changedS(item)),
  },
];

/** The columns of rows with two lines. */
export const NARROW: readonly Column[] = COLUMNS.filter(({ key }) =>
  ["curve", "reward", "steps", "samples", "changed"].includes(key),
);

/** The order in which columns give way if there is no room for all. */
const LAST_TO_FIRST: readonly Key[] = ["format", "length", "status", "samples", "steps", "changed", "curve"];

/** These also give way to the first keys of the configuration, which tell runs apart. */
const SPARED: ReadonlySet<Key> = new Set(["format", "length", "status"]);
const LEAST_CONFIG = 2;

const negative = (seconds: number | null): number | null => (seconds === null ? null : -seconds);

function lengthOf(item: RunItem): number | null {
  const split = mainSplit(item);
  const tokens = finite(split?.last_response_tokens);
  if (tokens !== null) return tokens;
  const chars = finite(split?.last_response_chars);
  return chars === null ? null : chars - CHARS_AFTER;
}

export function configColumn(name: string, differing: Differing): Column {
  const label = name.split(".").at(-1) ?? name;
  const values = [...differing.values()].flatMap((ofRun) => comparable(ofRun.get(name)) ?? []);
  return {
    key: `config:${name}`,
    label,
    title: `${name}, of the configuration`,
    px: Math.max(CONFIG_PX, Math.min(MOST_CONFIG_PX, BESIDE_NAME_PX + label.length * LETTER_PX)),
    isNumber: values.length > 0 && values.every((value) => typeof value === "number"),
    startsDown: false,
    value: (item) => comparable(differing.get(item.id)?.get(name)),
  };
}

function comparable(text: string | undefined): number | string | null {
  if (text === undefined) return null;
  return text.trim() !== "" && Number.isFinite(Number(text)) ? Number(text) : text;
}

/** The differing values, by run and key. */
export function differingOf(reply: ConfigsReply | null): Differing {
  return new Map(
    (reply?.runs ?? []).map(
      ({ run, values }) =>
        [
          run,
          new Map(values.flatMap((value, i) => (value === null ? [] : [[reply?.keys[i] ?? "", value] as const]))),
        ] as const,
    ),
  );
}

/** Names of runs are long, and differ at their ends. */
const NAME_SHARE = 0.2;

/**
 * The columns after the name that fit into a width, with a chosen metric beside the reward, and as many keys of the
 * configuration as fit beside them.
 */
export function fitting(
  widthPx: number,
  keys: readonly string[],
  differing: Differing,
  metric: Column | null = null,
): readonly Column[] {
  let room = widthPx - Math.max(NAME_PX, widthPx * NAME_SHARE);
  let columns = COLUMNS.flatMap((column) => (column.key === "reward" && metric !== null ? [column, metric] : [column]));
  const sum = (): number => columns.reduce((px, column) => px + column.px, 0);
  const wanted = Math.min(keys.length, LEAST_CONFIG) * CONFIG_PX;
  for (const key of LAST_TO_FIRST)
    if (sum() + (SPARED.has(key) ? wanted : 0) > room) columns = columns.filter((column) => column.key !== key);
  room -= sum();
  const config = keys.slice(0, MAX_CONFIG).map((name) => configColumn(name, differing));
  const fit = config.findIndex(({ px }) => (room -= px) < 0);
  if (fit >= 0) config.length = fit;
  const at = columns.findIndex(({ key }) => key === "status" || key === "changed");
  return at < 0 ? [...columns, ...config] : [...columns.slice(0, at), ...config, ...columns.slice(at)];
}

/** Every sortable column, shown or not. */
export const sortable = (keys: readonly string[], differing: Differing): readonly Column[] => [
  NAME,
  ...COLUMNS.filter(({ value }) => value !== undefined),
  ...keys.slice(0, MAX_CONFIG).map((name) => configColumn(name, differing)),
];

/** Runs in the order of a column. Runs without a value are last in either direction; ties keep their order. */
export function sorted(
  items: readonly RunItem[],
  column: Column | undefined,
  isDescending: boolean,
): readonly RunItem[] {
  const { value } = column ?? {};
  if (value === undefined) return items;
  const valued = items.map((item) => ({ item, value: value(item) }));
  const present = valued.filter((one): one is { item: RunItem; value: number | string } => one.value !== null);
  present.sort((a, b) => compared(a.value, b.value, isDescending));
  return [...present, ...valued.filter((one) => one.value === null)].map(({ item }) => item);
}

const byNumbers = new Intl.Collator(undefined, { numeric: true });

/** Numbers before words in either direction: a key may have a number in one run and a word in another. */
function compared(a: number | string, b: number | string, isDescending: boolean): number {
  const way = isDescending ? -1 : 1;
  if (typeof a === "number" && typeof b === "number") {
    const [isOther, isOtherB] = [a < -CHARS_AFTER / 2, b < -CHARS_AFTER / 2];
    return isOther === isOtherB ? way * (a - b) : Number(isOther) - Number(isOtherB);
  }
  if (typeof a === "number" || typeof b === "number") return typeof a === "number" ? -1 : 1;
  return way * byNumbers.compare(a, b);
}

/** The effect of a press on a heading: one direction, the other one, the order of discovery. */
export function turned(sort: Sort | null, column: Column): Sort | null {
  if (sort?.key !== column.key) return { key: column.key, isDescending: column.startsDown };
  return sort.isDescending === column.startsDown ? { key: column.key, isDescending: !column.startsDown } : null;
}

/** The heading above the row that begins the last runs, if they are a group; empty elsewhere. */
export function headingOf(items: readonly RunItem[], row: number): string {
  const group = items[row]?.group ?? "";
  const begins = group !== "" && group !== items[row - 1]?.group;
  return begins && items.slice(row).every((item) => item.group === group) ? group : "";
}
