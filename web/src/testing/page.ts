/** An element to draw in, for tests. */

import { type ComponentChild, createElement, render } from "preact";
import { createSession } from "../state/session";
import { SessionContext } from "../state/useSession";

/** Draw into an element for the first time, or again. */
export function draw(what: ComponentChild, host: Element, session = createSession()): void {
  render(createElement(SessionContext.Provider, { value: session }, what), host);
}

/** Draw into a fresh element of the page, as a part of a session. */
export async function drawn(what: ComponentChild, session = createSession()): Promise<HTMLElement> {
  const host = document.createElement("div");
  document.body.replaceChildren(host);
  draw(what, host, session);
  await settled();
  return host;
}

/** Wait until effects have run and the page is drawn again. */
export async function settled(): Promise<void> {
  // In short turns: a chain of timers advances equally on a busy and on an idle machine.
  for (let turns = 0; turns < 6; turns += 1) await new Promise((resolve) => setTimeout(resolve, 10));
}

/** The first button with this text. */
export function button(host: HTMLElement, words: string | RegExp): HTMLButtonElement {
  const match = [...host.querySelectorAll("button")].find((one) =>
    typeof words === "string" ? one.textContent.trim() === words : words.test(one.textContent),
  );
  if (match === undefined) throw new Error(`no button says ${String(words)}`);
  return match;
}
