/** What the page is asked: kept in the address. */

import { go, place } from "../../state/place";

/** The value of one of them, empty where the address leaves it to the run. */
export const asked = (name: string): string => place.value.ask[name] ?? "";

/** Ask for something else; what is empty goes. The cell that was open is closed unless it is asked for. */
export function ask(change: Readonly<Record<string, string>>): void {
  const { problem: _, ...rest } = place.peek().ask;
  go({ ask: Object.fromEntries(Object.entries({ ...rest, ...change }).filter(([, value]) => value !== "")) });
}
