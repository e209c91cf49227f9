/** The subject of the page and its options, which the address holds. */

import { nearest } from "../../lib/numbers/nearest";
import { figure, whole } from "../../lib/numbers/numbers";
import type { Session } from "../../state/session";
import { useSession } from "../../state/useSession";
import { type Loaded, useLoaded } from "../../ui/hooks/useLoaded";

/** The value of an option; empty for the default. */
export const option = (session: Session, name: string): string => session.place.now.value.ask[name] ?? "";

/** Change options; an empty one restores the default. */
export function setOption(session: Session, change: Readonly<Record<string, string>>): void {
  const ask = { ...session.place.now.peek().ask, ...change };
  session.place.go({ ask: Object.fromEntries(Object.entries(ask).filter(([, value]) => value !== "")) });
}

/** A step to compare with, and the reason for choosing it. */
export interface OtherStep {
  step: number;
  why: string;
}

/**
 * The step to compare the current one with: the chosen one or the nearest to it, else the first; for the first, the
 * last.
 */
export function otherStep(session: Session): OtherStep | null {
  const steps = session.steps.reply.value?.steps ?? [];
  const [here, wanted] = [session.place.field.step.value, whole(option(session, "before"))];
  if (steps.length < 2) return null;
  if (wanted !== null && steps.includes(wanted)) return { step: wanted, why: "" };
  if (wanted !== null) {
    const others = steps.filter((step) => step !== here);
    const step = others[nearest(others, wanted)] ?? 0;
    return { step, why: `There is no step ${figure(wanted)}: ${figure(step)} is the nearest.` };
  }
  const [first = 0, last = 0] = [steps[0], steps.at(-1)];
  return here === first ? { step: last, why: "The last step." } : { step: first, why: "The first step." };
}

/** An answer about the current split; `what` names it, null requests nothing. */
export function useAnswer<T>(
  what: readonly (string | number)[] | null,
  load: (run: string, split: string) => Promise<T>,
): Loaded<T> {
  const session = useSession();
  const run = session.run.now.value;
  const split = session.place.field.split.value;
  const subject = run === null || split === null || what === null ? null : JSON.stringify([run.id, split, ...what]);
  return useLoaded(
    subject === null ? null : `${subject} ${run?.version}`,
    () => load(run?.id ?? "", split ?? ""),
    subject,
  );
}
