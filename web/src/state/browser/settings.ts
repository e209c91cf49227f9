/** The reader's settings, stored in this browser. */

import { computed, effect, signal } from "@preact/signals";
import { MAX_CHARTS } from "../../lib/address/address";
import { type Chart, chartsOf, textOf } from "../../lib/charts/chart";
import { fields, share } from "./storage";

export interface Settings {
  theme: "system" | "light" | "dark";
  rewardColours: "usual" | "safe";
  /** Long text opens at its end, which the model wrote last. */
  openAtEnd: boolean;
  /** The pad token of records that name none: an id or a token as text; empty for none. */
  padToken: string;
  /** Prompts that no template divides begin after this text; empty for no cut. */
  promptAfter: string;
  /** The band of the charts of metrics; empty for the usual one of the run. */
  band: string;
  /** These charts are shifted to begin at zero. */
  fromZero: boolean;
  /** The rows of all tokens above the text of tokens are folded. */
  stripFolded: boolean;
  /** The texts of the charts below the reward; null for the usual ones. */
  charts: readonly string[] | null;
  /** The person's own words for good and bad samples; empty for these. */
  goodWord: string;
  badWord: string;
  leftWidth: number;
  rightWidth: number;
  leftOpen: boolean;
  /** Null until a person chose: open where the window is wide enough. */
  rightOpen: boolean | null;
  /** Words below the icons of the rail. */
  railOpen: boolean;
}

export const LEFT = { usual: 344, least: 240, most: 640 };
export const RIGHT = { usual: 300, least: 220, most: 720 };

/** The longest token after which a prompt may be cut. */
const TOKEN_CHARS = 200;

/** The longest pad token. */
export const PAD_CHARS = 100;

/** The longest word for a judgement. */
export const WORD_CHARS = 20;

const USUAL: Settings = {
  theme: "system",
  rewardColours: "usual",
  openAtEnd: true,
  padToken: "",
  promptAfter: "",
  band: "",
  fromZero: false,
  stripFolded: false,
  charts: null,
  goodWord: "",
  badWord: "",
  leftWidth: LEFT.usual,
  rightWidth: RIGHT.usual,
  leftOpen: true,
  rightOpen: null,
  railOpen: true,
};

/** Settings that belong to this browser's window; all others follow the person. */
export const OF_BROWSER: readonly (keyof Settings)[] = ["leftWidth", "rightWidth", "leftOpen", "rightOpen", "railOpen"];

/** public/theme.js reads it too, before the first paint. */
const KEY = "rolloupe.settings";

export const settings = signal<Settings>(USUAL);

/** Choices of this tab that are not yet stored with the person's settings. */
export const unsent = signal<Partial<Settings>>({});

export function choose(change: Partial<Settings>): void {
  settings.value = { ...settings.value, ...change };
  unsent.value = { ...unsent.peek(), ...change };
}

/** The reader's own charts below the reward; null for the usual ones. */
export const ownCharts = computed<readonly Chart[] | null>(() => {
  const { charts } = settings.value;
  return charts === null ? null : chartsOf(charts, MAX_CHARTS);
});

/** Switch from light to dark, and back. */
export function turnTheme(): void {
  const { theme } = settings.peek();
  const isDark = theme === "system" ? matchMedia("(prefers-color-scheme: dark)").matches : theme === "dark";
  choose({ theme: isDark ? "light" : "dark" });
}

/** Stored settings; invalid ones take the default. */
export function restored(text: string | null): Settings {
  const values = fields<Settings>(text);
  const word = (value: unknown, most: number): string => (typeof value === "string" ? value.slice(0, most) : "");
  const width = (value: unknown, { usual, least, most }: typeof LEFT): number =>
    typeof value === "number" && Number.isFinite(value) ? Math.min(most, Math.max(least, value)) : usual;
  return {
    theme: values.theme === "light" || values.theme === "dark" ? values.theme : "system",
    rewardColours: values.rewardColours === "safe" ? "safe" : "usual",
    openAtEnd: values.openAtEnd !== false,
    padToken: word(values.padToken, PAD_CHARS),
    promptAfter: word(values.promptAfter, TOKEN_CHARS),
    band: word(values.band, PAD_CHARS),
    fromZero: values.fromZero === true,
    stripFolded: values.stripFolded === true,
    charts: Array.isArray(values.charts) ? chartsOf(values.charts, MAX_CHARTS).map(textOf) : null,
    goodWord: word(values.goodWord, WORD_CHARS),
    badWord: word(values.badWord, WORD_CHARS),
    leftWidth: width(values.leftWidth, LEFT),
    rightWidth: width(values.rightWidth, RIGHT),
    leftOpen: values.leftOpen !== false,
    rightOpen: typeof values.rightOpen === "boolean" ? values.rightOpen : null,
    railOpen: values.railOpen !== false,
  };
}

/** Load the stored settings, then store and show all choices, in this tab and in the others. */
export function startSettings(): void {
  share(KEY, settings, restored);
  effect(() => {
    const { theme, rewardColours } = settings.value;
    const { dataset } = document.documentElement;
    if (theme === "system") delete dataset["theme"];
    else dataset["theme"] = theme;
    if (rewardColours === "safe") dataset["reward"] = "safe";
    else delete dataset["reward"];
  });
}
