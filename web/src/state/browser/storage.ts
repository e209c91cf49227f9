/**
 * What a person chooses, kept in this browser. Where its storage is closed or full, a choice holds until the page is
 * left.
 */

import { effect, type ReadonlySignal, type Signal } from "@preact/signals";

/** What was kept under a name; null for nothing. */
export function stored(name: string): string | null {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

/** Keep a choice, from now on. */
export function store(name: string, choice: ReadonlySignal<unknown>): void {
  effect(() => {
    const text = JSON.stringify(choice.value);
    try {
      localStorage.setItem(name, text);
    } catch {
      // As above.
    }
  });
}

/** Take up what was kept, and keep it, in this tab and in the others: what one of them chooses, all of them show. */
export function share<T>(name: string, choice: Signal<T>, restored: (text: string | null) => T): void {
  choice.value = restored(stored(name));
  store(name, choice);
  addEventListener("storage", (event) => {
    if (event.key === name) choice.value = restored(event.newValue);
  });
}

/** The fields of what was kept, each of which may be anything; none where it is no object. */
export function fields<T>(text: string | null): Partial<Record<keyof T, unknown>> {
  try {
    const given: unknown = JSON.parse(text ?? "{}");
    return typeof given === "object" && given !== null ? given : {};
  } catch {
    return {};
  }
}
