/** Asks for pages of a list, and how far they are: a filter over a large run takes seconds. */

import { signal } from "@preact/signals";
import { getGroups, getProgress, getSamples } from "../../api";
import type { GroupsReply, Progress, SamplesReply } from "../../api/types.gen";
import type { Mode } from "../../lib/address/address";
import { queryOf, type Scope } from "../../lib/list/scope";
import { Store } from "../store";

/** Rows of a page. */
export const PAGE = 100;

const EACH_MS = 200;

export type Page = { kind: "groups"; reply: GroupsReply } | { kind: "samples"; reply: SamplesReply };

export class PagesStore extends Store {
  /** How far the list is that the reader waits for; null while nobody waits for long. */
  readonly counting = signal<Progress | null>(null);

  /** One page of rows; with `around`, the page with that sample. */
  async ask(of: Scope, mode: Mode, page: number, around?: string): Promise<Page> {
    const query = { ...queryOf(of), offset: page * PAGE, limit: PAGE, around, usual: of.usual || undefined };
    return mode === "groups"
      ? { kind: "groups", reply: await this.#followed(getGroups(of.run, query), of.run, "groups", query) }
      : { kind: "samples", reply: await this.#followed(getSamples(of.run, query), of.run, "samples", query) };
  }

  /** Wait for a page, and ask meanwhile how far it is. */
  async #followed<T>(page: Promise<T>, ...asked: Parameters<typeof getProgress>): Promise<T> {
    let isOver = false;
    const follow = async () => {
      for (;;) {
        await new Promise((done) => setTimeout(done, EACH_MS));
        if (isOver) return;
        const now = await getProgress(...asked);
        if (!isOver && now.of > 0) this.counting.value = now;
      }
    };
    follow().catch(() => undefined); // the page itself says what is wrong
    try {
      return await page;
    } finally {
      isOver = true;
      this.counting.value = null;
    }
  }
}
