/** The findings of the run: the number of suspects, and the findings that a person set aside as no hack. */

import { computed, signal, untracked } from "@preact/signals";
import { askFindings } from "../../api/routes.gen";
import type { Finding, RunFindings } from "../../api/types.gen";
import { isRecord } from "../../lib/data/record";
import { ofLayout, put, recordAt } from "../marks";
import { Store } from "../store";

const PAGE = "findings";

/** The list of samples comes first. */
const AFTER_MS = 600;

/** Why a finding is not a hack, who says so, and when, in milliseconds. */
export interface Aside {
  why: string;
  who: string;
  since: number;
}

/** The key that identifies a finding across searches. */
export const nameOfFinding = ({ phrase, behaviour }: Pick<Finding, "phrase" | "behaviour">): string =>
  behaviour || phrase;

const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

/** The findings that a person set aside, by name. */
export function findingsAside(run: string): ReadonlyMap<string, Aside> {
  const aside = recordAt(ofLayout(run, PAGE))?.["aside"];
  return new Map(
    Object.entries(isRecord(aside) ? aside : {}).flatMap(([name, of]): [string, Aside][] =>
      isRecord(of) ? [[name, { why: textOf(of["why"]), who: textOf(of["who"]), since: Number(of["since"]) || 0 }]] : [],
    ),
  );
}

/** Set a finding aside, or take it back for null. */
export function setAside(run: string, name: string, aside: Aside | null): void {
  const all = new Map(findingsAside(run));
  all.delete(name);
  if (aside !== null) all.set(name, aside);
  void put(ofLayout(run, PAGE), all.size === 0 ? null : { aside: Object.fromEntries(all) });
}

export class FindingsStore extends Store {
  /** The findings of a whole run, once they are known. */
  readonly found = signal<RunFindings | null>(null);

  readonly suspects = computed(() => {
    const reply = this.found.value;
    if (reply === null || reply.run !== this.session.run.now.value?.id) return 0;
    const aside = findingsAside(reply.run);
    return reply.findings.filter((one) => one.class === "suspect" && !aside.has(nameOfFinding(one))).length;
  });

  #asked = "";

  /** Request the findings of each run when all of it is scanned, and again with each later brief. */
  start(): void {
    this.session.effect(() => {
      const brief = this.session.brief.now.value;
      const found = this.found.peek();
      if (brief !== null && found?.run === brief.run && found.version !== brief.version)
        untracked(() => void this.#load(brief.run));
    });
    this.session.effect(() => {
      const item = this.session.run.now.value;
      if (item === null || item.progress.phase !== "ready" || item.splits.length === 0) return;
      untracked(() => this.#ask(item.id));
    });
  }

  #ask(run: string): void {
    if (this.#asked === run) return;
    this.#asked = run;
    setTimeout(() => this.found.peek()?.run !== run && void this.#load(run), AFTER_MS);
  }

  async #load(run: string): Promise<void> {
    if (this.session.run.now.peek()?.id !== run) return;
    try {
      const found = await askFindings(run, {});
      if (this.session.run.now.peek()?.id === run) this.found.value = found;
    } catch {
      // The page of findings shows the error.
    }
  }
}
