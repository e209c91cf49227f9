/** The reader's preferences for lists, stored in this browser: columns, row previews, and widths of table columns. */

import { signal } from "@preact/signals";
import { fields, store, stored } from "./storage";

/** The preview of a row: the beginning of the response, its end, or the prompt. */
const PREVIEWS = ["response", "end", "prompt"] as const;
export type Preview = (typeof PREVIEWS)[number];

export interface ListView {
  /** Columns beside each group and sample; null for the default. */
  columns: readonly string[] | null;
  /** Columns of the table, besides the id, which includes step and group. */
  table: readonly string[];
  /** Null for the usual one: the end for agents, else the beginning of the response. */
  preview: Preview | null;
  hasTooltips: boolean;
  /** The widths of the table's columns in pixels, by name. */
  widths: Readonly<Record<string, number>>;
}

export const USUAL: ListView = {
  columns: null,
  table: ["reward", "advantage", "status", "response_tokens", "turns", "prompt", "label", "ref_response"],
  preview: null,
  hasTooltips: true,
  widths: {},
};

const KEY = "rolloupe.lists"; // "rolloupe.list" stored the default columns as if they were chosen
export const WIDTH = { least: 48, most: 800 };

export const view = signal<ListView>(restored(stored(KEY)));

export function chooseView(change: Partial<ListView>): void {
  view.value = { ...view.value, ...change };
}

/** The stored preferences; invalid ones take the default. */
export function restored(text: string | null): ListView {
  const values = fields<ListView>(text);
  const names = <T>(value: unknown, usual: T): readonly string[] | T =>
    Array.isArray(value)
      ? [...new Set(value.filter((name): name is string => typeof name === "string" && name !== ""))]
      : usual;
  const widths = typeof values.widths === "object" && values.widths !== null ? Object.entries(values.widths) : [];
  return {
    columns: names(values.columns, USUAL.columns),
    table: names(values.table, USUAL.table),
    preview: PREVIEWS.find((one) => one === values.preview) ?? null,
    hasTooltips: values.hasTooltips !== false,
    widths: Object.fromEntries(
      widths.filter(([, px]) => typeof px === "number" && px >= WIDTH.least && px <= WIDTH.most),
    ),
  };
}

export function startListView(): void {
  store(KEY, view);
}
