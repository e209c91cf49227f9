/** Requests pages of a list and their progress: a filter over a large run takes seconds. */

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
  /** The progress of the list that the reader waits for; null without a long wait. */
  readonly counting = signal<Progress | null>(null);

  /** One page of rows; with `around`, the page with that sample. */
  async ask(of: Scope, mode: Mode, page: number, around?: string): Promise<Page> {
    const query = { ...queryOf(of), offset: page * PAGE, limit: PAGE, around, usual: of.usual || undefined };
    return mode === "groups"
      ? { kind: "groups", reply: await this.#followed(getGroups(of.run, query), of.run, "groups", query) }
      : { kind: "samples", reply: await this.#followed(getSamples(of.run, query), of.run, "samples", query) };
  }

  /** Wait for a page, and meanwhile ask for its progress. */
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
    follow().catch(() => undefined); // the request of the page reports the error
    try {
      return await page;
    } finally {
      isOver = true;
      this.counting.value = null;
    }
  }
}
