/** What the samples of a page of a list have in common: all of them, and those of a group beside that. */

import type { SampleItem } from "../../api/types.gen";
import { commonWords } from "./commonWords";
import { bare, preview } from "../sample/preview";

export interface Common {
  /** Words that every prompt has. */
  prompts: ReadonlySet<string>;
  /**
   * Words that every start of a response has, or of those of the same group: a group often begins by repeating its
   * problem.
   */
  responses: ReadonlySet<string>;
}

export const NOTHING_COMMON: Common = { prompts: new Set(), responses: new Set() };

const cache = new WeakMap<readonly SampleItem[], ReadonlyMap<string, Common>>();

/** What a sample has in common with the others of its page. One value for all samples of a group. */
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
