/** The words that the samples on a page of the list share: all of them, and those of each group. */

import type { SampleItem } from "../../api/types.gen";
import { NOTHING_SHARED, type Shared, sharedBy } from "./commonWords";
import { preview } from "../sample/preview";

export interface Common {
  /** Words in every prompt. */
  prompts: Shared;
  /**
   * Words in every beginning of a response, or in those of the same group: members of a group often begin by repeating
   * their prompt.
   */
  responses: Shared;
}

export const NOTHING_COMMON: Common = { prompts: NOTHING_SHARED, responses: NOTHING_SHARED };

/** What rows show of a prompt and of a response; the texts change with `settings` alone. */
export interface ShownTexts {
  prompt: (prompt: string) => string;
  response: (response: string) => string;
  settings: string;
}

const cache = new WeakMap<readonly SampleItem[], { settings: string; groups: ReadonlyMap<string, Common> }>();

/** The words that a sample shares with the others on its page. All samples of a group share one value. */
export function commonBeside(page: readonly SampleItem[], item: SampleItem, shown: ShownTexts): Common {
  const { settings } = shown;
  let known = cache.get(page);
  if (known?.settings !== settings) cache.set(page, (known = { settings, groups: commonByGroup(page, shown) }));
  return known.groups.get(groupOf(item)) ?? NOTHING_COMMON;
}

const groupOf = ({ id }: SampleItem): string => id.slice(0, id.lastIndexOf("/"));

function commonByGroup(page: readonly SampleItem[], shown: ShownTexts): ReadonlyMap<string, Common> {
  const prompts = sharedBy(page.map(({ prompt }) => shown.prompt(prompt)));
  const starts = new Map<string, string[]>();
  for (const item of page) {
    const current = starts.get(groupOf(item));
    const text = preview(shown.response(item.response)).text;
    if (current === undefined) starts.set(groupOf(item), [text]);
    else current.push(text);
  }
  const all = sharedBy([...starts.values()].flat());
  return new Map(
    [...starts].map(([group, texts]) => {
      const { words, start } = sharedBy(texts);
      return [group, { prompts, responses: { words: new Set([...all.words, ...words]), start: start || all.start } }];
    }),
  );
}
