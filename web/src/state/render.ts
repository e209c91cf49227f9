/** How text is shown, kept in this browser: verbatim, unless a person chose otherwise. */

import { computed, effect, signal } from "@preact/signals";

export interface Render {
  /** Thoughts fold and are marked off; else they are text between tags, as written. */
  think: boolean;
  markdown: boolean;
  latex: boolean;
  code: boolean;
  /** The markers of the chat template are shown; else they are left out. */
  markers: boolean;
  /** Newlines, tabs, invisible characters and special tokens are marked. Text is verbatim meanwhile. */
  visible: boolean;
}

const USUAL: Render = { think: true, markdown: false, latex: false, code: false, markers: true, visible: false };
const KEY = "rolloupe.render";
/** The longest token that a prompt may be cut after. */
const TOKEN_CHARS = 200;

interface Kept extends Render {
  /** A prompt that no template divides is cut after this; empty: it is not cut. */
  promptAfter: string;
}

const AS_USUAL: Kept = { ...USUAL, promptAfter: "" };

const kept = signal<Kept>(AS_USUAL);

export const render = computed<Render>(() => kept.value);
export const promptAfter = computed(() => kept.value.promptAfter);

/** What changes a text by more than marks: which of Markdown, LaTeX and code is drawn. Null for none. */
export const richness = computed<{ markdown: boolean; latex: boolean; code: boolean } | null>(() => {
  const { markdown, latex, code, visible } = kept.value;
  return visible || !(markdown || latex || code) ? null : { markdown, latex, code };
});

/** How many choices are not as usual. */
export const changes = computed(() => (Object.keys(USUAL) as (keyof Render)[]).filter((name) => kept.value[name] !== USUAL[name]).length);

export function chooseRender(change: Partial<Kept>): void {
  kept.value = { ...kept.value, ...change };
}

/** Choices out of what was kept; whatever does not fit is as usual. */
export function restored(text: string | null): Kept {
  let given: unknown;
  try {
    given = JSON.parse(text ?? "{}");
  } catch {
    return AS_USUAL;
  }
  if (typeof given !== "object" || given === null) return AS_USUAL;
  const known = given as Partial<Record<keyof Kept, unknown>>;
  const flag = (name: keyof Render): boolean => (typeof known[name] === "boolean" ? known[name] : USUAL[name]);
  return {
    think: flag("think"),
    markdown: flag("markdown"),
    latex: flag("latex"),
    code: flag("code"),
    markers: flag("markers"),
    visible: flag("visible"),
    promptAfter: typeof known.promptAfter === "string" ? known.promptAfter.slice(0, TOKEN_CHARS) : "",
  };
}

/** Take up what was kept, and from now on keep what is chosen, in this tab and in the others. */
export function startRender(): void {
  try {
    kept.value = restored(localStorage.getItem(KEY));
  } catch {
    // Storage is closed: all is as usual, and choices hold until the page is left.
  }
  effect(() => {
    const text = JSON.stringify(kept.value);
    try {
      localStorage.setItem(KEY, text);
    } catch {
      // As above.
    }
  });
  addEventListener("storage", (event) => {
    if (event.key === KEY) kept.value = restored(event.newValue);
  });
}
