/** The options of the page, stored in the address. */

import type { Session } from "../../state/session";

/** The value of an option; empty for the run's default. */
export const evalOption = (session: Session, name: string): string => session.place.now.value.ask[name] ?? "";

/** Change options; empty ones are removed. The open cell closes unless the change names it. */
export function setEvalOptions(session: Session, change: Readonly<Record<string, string>>): void {
  const { prompt: _, ...rest } = session.place.now.peek().ask;
  session.place.go({
    ask: Object.fromEntries(Object.entries({ ...rest, ...change }).filter(([, value]) => value !== "")),
  });
}
