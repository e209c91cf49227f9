/** The words that the samples on a page of the list share: all of them, and those of each group. */

import type { SampleItem } from "../../api/types.gen";
import { commonWords } from "./commonWords";
import { bare, preview } from "../sample/preview";

export interface Common {
  /** Words in every prompt. */
  prompts: ReadonlySet<string>;
  /**
   * Words in every beginning of a response, or in those of the same group: members of a group often begin by repeating
   * their prompt.
   */
  responses: ReadonlySet<string>;
}

export const NOTHING_COMMON: Common = { prompts: new Set(), responses: new Set() };

const cache = new WeakMap<readonly SampleItem[], ReadonlyMap<string, Common>>();

/** The words that a sample shares with the others on its page. All samples of a group share one value. */
export function commonBeside(page: readonly SampleItem[], item: SampleItem): Common {
  let groups = cache.get(page);
  if (groups === undefined) cache.set(page, (groups = commonByGroup(page)));
  return groups.get(groupOf(item)) ?? NOTHING_COMMON;
}

const groupOf = ({ id }: SampleItem): string => id.slice(0, id.lastIndexOf("/"));

function commonByGroup(page: readonly SampleItem[]): ReadonlyMap<string, Common> {
  const prompts = commonWords(page.map(({ prompt }) => bare(prompt)));
  const starts = new Map<string, string[]>();
  for (const item of page) {
    const current = starts.get(groupOf(item));
    const text = preview(item.response).text;
    if (current === undefined) starts.set(groupOf(item), [text]);
    else current.push(text);
  }
  const all = commonWords([...starts.values()].flat());
  return new Map(
    [...starts].map(([group, texts]) => [group, { prompts, responses: new Set([...all, ...commonWords(texts)]) }]),
  );
}
