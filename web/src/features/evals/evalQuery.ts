/** What the page is asked: kept in the address. */

import type { Session } from "../../state/session";

/** The value of one of them, empty where the address leaves it to the run. */
export const evalOption = (session: Session, name: string): string => session.place.now.value.ask[name] ?? "";

/** Ask for something else; what is empty goes. The cell that was open is closed unless it is asked for. */
export function setEvalOptions(session: Session, change: Readonly<Record<string, string>>): void {
  const { prompt: _, ...rest } = session.place.now.peek().ask;
  session.place.go({
    ask: Object.fromEntries(Object.entries({ ...rest, ...change }).filter(([, value]) => value !== "")),
  });
}
