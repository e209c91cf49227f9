/** The findings of the run: the number of suspects, and the findings that a person set aside as no hack. */

import { computed, signal } from "@preact/signals";
import { askFindings } from "../../api/routes.gen";
import type { Finding, RunFindings } from "../../api/types.gen";
import { isRecord } from "../../lib/data/record";
import { ofLayout, put, recordAt } from "../marks";
import { Store } from "../store";

const PAGE = "findings";

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

  /** Load the findings of the run as of a version of its brief, once. */
  async load(run: string, version: string | undefined): Promise<void> {
    const found = this.found.peek();
    if (found?.run === run && (version === undefined || found.version === version)) return;
    try {
      const reply = await askFindings(run, {});
      if ((this.session.run.now.peek()?.id ?? run) === run) this.found.value = reply;
    } catch {
      // The page of findings shows the error.
    }
  }
}
