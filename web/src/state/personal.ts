/** The settings that follow the person, not the browser: kept with what a person added, too, and taken up from there. */

import { effect, untracked } from "@preact/signals";
import { areMarksLoaded, changeSetting, items, settingOf } from "./marks";
import { OF_BROWSER, restored, settings } from "./settings";

const NAME = "reading";

function personal(of: object): Record<string, unknown> {
  const own = new Set<string>(OF_BROWSER);
  return Object.fromEntries(Object.entries(of).filter(([key]) => !own.has(key)).toSorted(([a], [b]) => a.localeCompare(b)));
}

export function startPersonal(): void {
  let known: string | null = null;
  effect(() => {
    if (items.value.size === 0 && !areMarksLoaded()) return;
    const kept = settingOf(NAME);
    untracked(() => {
      const here = settings.peek();
      const next = kept === null ? here : restored(JSON.stringify({ ...here, ...personal(kept) }));
      known = JSON.stringify(personal(next));
      if (JSON.stringify(next) !== JSON.stringify(here)) settings.value = next;
    });
  });
  effect(() => {
    const chosen = personal(settings.value);
    const text = JSON.stringify(chosen);
    untracked(() => {
      if (known === null || text === known) return;
      known = text;
      void changeSetting(NAME, chosen);
    });
  });
}
