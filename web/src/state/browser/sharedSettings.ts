/** The settings that follow the person instead of the browser: the server stores them with the person's marks. */

import { effect, untracked } from "@preact/signals";
import { areMarksLoaded, changeSetting, settingOf } from "../marks";
import { OF_BROWSER, restored, settings, unsent } from "./settings";

const NAME = "reading";
const OF_ONE = new Set<string>(OF_BROWSER);

function personal(of: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(of).filter(([key]) => !OF_ONE.has(key)));
}

export function startPersonal(): void {
  // The tab in which a choice was made sends it, after it has loaded the stored settings.
  effect(() => {
    const chosen = personal(unsent.value);
    if (!areMarksLoaded.value || Object.keys(chosen).length === 0) return;
    untracked(() => {
      unsent.value = {};
      void changeSetting(NAME, { ...settingOf(NAME), ...chosen });
    });
  });
  effect(() => {
    const shared = areMarksLoaded.value ? settingOf(NAME) : null;
    if (shared === null) return;
    untracked(() => {
      const here = settings.peek();
      const next = restored(JSON.stringify({ ...here, ...personal(shared), ...unsent.peek() }));
      if (JSON.stringify(next) !== JSON.stringify(here)) settings.value = next;
    });
  });
}
