/** What the page is about, and its options, which the address holds. */

import type { Session } from "../../state/session";
import { useSession } from "../../state/useSession";
import { type Loaded, useLoaded } from "../../ui/hooks/useLoaded";

/** The value of an option; empty if the page decides. */
export const option = (session: Session, name: string): string => session.place.now.value.ask[name] ?? "";

/** Change options; an empty one is the page's choice again. */
export function setOption(session: Session, change: Readonly<Record<string, string>>): void {
  const ask = { ...session.place.now.peek().ask, ...change };
  session.place.go({ ask: Object.fromEntries(Object.entries(ask).filter(([, value]) => value !== "")) });
}

/** The step to compare the current one with: the chosen one, else the first, or the last beside the first. */
export function otherStep(session: Session): number | null {
  const steps = session.steps.reply.value?.steps ?? [];
  const chosen = Number(option(session, "before") || NaN);
  if (steps.includes(chosen)) return chosen;
  const other = session.place.field.step.value === steps[0] ? steps.at(-1) : steps[0];
  return other === undefined || steps.length < 2 ? null : other;
}

/** An answer about the current split; `what` names it, null asks for nothing. */
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
