/** How text is shown: rendered, unless a person chose otherwise. Stored in this browser. */

import { computed, signal } from "@preact/signals";
import { settings } from "./settings";
import { fields, share } from "./storage";

export interface Render {
  /** Thoughts are set apart; otherwise they are text between tags, as written. */
  think: boolean;
  /** Each thought is folded to a line until it is opened. */
  folded: boolean;
  markdown: boolean;
  latex: boolean;
  code: boolean;
  /** Template markers are shown in the model's text; otherwise they are left out. */
  markers: boolean;
  /** Prompts show them, too, although the names of the turns repeat them there. */
  promptMarkers: boolean;
  /** System prompts are shown; otherwise they are left out. */
  system: boolean;
  /** Pad tokens at either end of a text are shown; otherwise they are left out. */
  padding: boolean;
  /** Prompt, response and reference are side by side if there is room. */
  beside: boolean;
  /** Words that differ between response and reference are marked. */
  differences: boolean;
  /** Newlines, tabs, invisible characters and special tokens are marked; text is then verbatim. */
  visible: boolean;
}

const USUAL: Render = {
  think: true,
  folded: false,
  markdown: true,
  latex: true,
  code: true,
  markers: true,
  promptMarkers: false,
  system: true,
  padding: true,
  beside: true,
  differences: true,
  visible: false,
};
const KEY = "rolloupe.render";

const chosen = signal<Render>(USUAL);

export const render = computed<Render>(() => chosen.value);
export const promptAfter = computed(() => settings.value.promptAfter);
export const padToken = computed(() => settings.value.padToken);

/** The renderers that change a text beyond marks: Markdown, LaTeX and code. Null for none. */
export const richness = computed<{ markdown: boolean; latex: boolean; code: boolean } | null>(() => {
  const { markdown, latex, code, visible } = chosen.value;
  return visible || !(markdown || latex || code) ? null : { markdown, latex, code };
});

/** Choices above a sample with a reference, which the menu lacks. */
const OF_REFERENCE: ReadonlySet<keyof Render> = new Set(["beside", "differences"]);

/** The number of menu choices that differ from the default. */
export const changes = computed(
  () =>
    (Object.keys(USUAL) as (keyof Render)[]).filter(
      (name) => chosen.value[name] !== USUAL[name] && !OF_REFERENCE.has(name),
    ).length,
);

export function chooseRender(change: Partial<Render>): void {
  chosen.value = { ...chosen.value, ...change };
}

/** Show all text as it is written, or rendered. */
export function turnVerbatim(): void {
  const isRich = richness.peek() === null;
  chooseRender({ markdown: isRich, latex: isRich, code: isRich, ...(isRich ? { visible: false } : {}) });
}

/** Stored choices; invalid ones take the default. */
export function restored(text: string | null): Render {
  const values = fields<Render>(text);
  const flag = (name: keyof Render): boolean => (typeof values[name] === "boolean" ? values[name] : USUAL[name]);
  return {
    think: flag("think"),
    folded: flag("folded"),
    markdown: flag("markdown"),
    latex: flag("latex"),
    code: flag("code"),
    markers: flag("markers"),
    promptMarkers: flag("promptMarkers"),
    system: flag("system"),
    padding: flag("padding"),
    beside: flag("beside"),
    differences: flag("differences"),
    visible: flag("visible"),
  };
}

/** Load the stored choices, then store all changes, in this tab and in the others. */
export const startRender = (): void => share(KEY, chosen, restored);
