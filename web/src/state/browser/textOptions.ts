/** How text is shown, kept in this browser: verbatim, unless a person chose otherwise. */

import { computed, signal } from "@preact/signals";
import { fields, share } from "./storage";

export interface Render {
  /** Thoughts are marked off; else they are text between tags, as written. */
  think: boolean;
  /** Thoughts are folded to a line each until they are opened. */
  folded: boolean;
  markdown: boolean;
  latex: boolean;
  code: boolean;
  /** The markers of the chat template are shown in what the model wrote; else they are left out. */
  markers: boolean;
  /** They are shown in prompts, too, where the names of the turns say the same. */
  promptMarkers: boolean;
  /** System prompts are shown; else they are left out. */
  system: boolean;
  /** Pad tokens at either end of a text are shown; else they are left out. */
  padding: boolean;
  /** Prompt, response and reference stand beside each other where there is room. */
  beside: boolean;
  /** The words are marked in which the response and the reference differ. */
  differences: boolean;
  /** Newlines, tabs, invisible characters and special tokens are marked. Text is verbatim meanwhile. */
  visible: boolean;
}

const USUAL: Render = {
  think: true,
  folded: false,
  markdown: false,
  latex: false,
  code: false,
  markers: true,
  promptMarkers: false,
  system: true,
  padding: true,
  beside: true,
  differences: true,
  visible: false,
};
const KEY = "rolloupe.render";
/** The longest token that a prompt may be cut after. */
const TOKEN_CHARS = 200;

interface Choice extends Render {
  /** A prompt that no template divides is cut after this; empty: it is not cut. */
  promptAfter: string;
}

const AS_USUAL: Choice = { ...USUAL, promptAfter: "" };

const chosen = signal<Choice>(AS_USUAL);

export const render = computed<Render>(() => chosen.value);
export const promptAfter = computed(() => chosen.value.promptAfter);

/** What changes a text by more than marks: which of Markdown, LaTeX and code is drawn. Null for none. */
export const richness = computed<{ markdown: boolean; latex: boolean; code: boolean } | null>(() => {
  const { markdown, latex, code, visible } = chosen.value;
  return visible || !(markdown || latex || code) ? null : { markdown, latex, code };
});

/** What is chosen above a sample that has a reference, and not in the menu. */
const OF_REFERENCE: ReadonlySet<keyof Render> = new Set(["beside", "differences"]);

/** How many choices of the menu are not as usual. */
export const changes = computed(
  () =>
    (Object.keys(USUAL) as (keyof Render)[]).filter(
      (name) => chosen.value[name] !== USUAL[name] && !OF_REFERENCE.has(name),
    ).length,
);

export function chooseRender(change: Partial<Choice>): void {
  chosen.value = { ...chosen.value, ...change };
}

/** Choices out of what was kept; whatever does not fit is as usual. */
export function restored(text: string | null): Choice {
  const given = fields<Choice>(text);
  const flag = (name: keyof Render): boolean => (typeof given[name] === "boolean" ? given[name] : USUAL[name]);
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
    promptAfter: typeof given.promptAfter === "string" ? given.promptAfter.slice(0, TOKEN_CHARS) : "",
  };
}

/** Take up what was kept, and from now on keep what is chosen, in this tab and in the others. */
export const startRender = (): void => share(KEY, chosen, restored);
