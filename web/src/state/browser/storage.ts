/**
 * A person's choices, stored in this browser. If its storage is closed or full, a choice lasts until the page is left.
 */

import { effect, type ReadonlySignal, type Signal } from "@preact/signals";

/** The stored text of a name; null for none. */
export function stored(name: string): string | null {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

/** Store a choice from now on. */
export function store(name: string, choice: ReadonlySignal<unknown>): void {
  effect(() => {
    const text = JSON.stringify(choice.value);
    try {
      localStorage.setItem(name, text);
    } catch {
      // the storage is closed
    }
  });
}

/**
 * Load a stored choice and store its changes, in this tab and in the others: all tabs show the choice of any of them.
 */
export function share<T>(name: string, choice: Signal<T>, restored: (text: string | null) => T): void {
  choice.value = restored(stored(name));
  store(name, choice);
  addEventListener("storage", (event) => {
    if (event.key === name) choice.value = restored(event.newValue);
  });
}

/** The fields of stored JSON, each of which may be anything; empty unless it is an object. */
export function fields<T>(text: string | null): Partial<Record<keyof T, unknown>> {
  try {
    const value: unknown = JSON.parse(text ?? "{}");
    return typeof value === "object" && value !== null ? value : {};
  } catch {
    return {};
  }
}
