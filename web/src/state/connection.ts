/** The stream of the server's events, one for the page: growing runs, and marks added elsewhere. */

import { effect, signal } from "@preact/signals";
import { listen } from "../api/events";
import { isLocked, isSignedOut } from "./browser/login";
import { isVisible } from "./browser/visibility";
import { loadMarks, sendAgain } from "./marks";
import { loadRuns, updateRun } from "./runs";

/** Null before the first event. */
export const isConnected = signal<boolean | null>(null);

export function connect(): void {
  const again = listen({
    event({ kind, run: item }) {
      if (kind === "run" && item !== null) updateRun(item);
      else if (kind === "runs") void Promise.all([loadRuns(), loadMarks()]);
      else if (kind === "state") void loadMarks();
    },
    connection(isUp) {
      const wasUp = isConnected.peek() === true;
      isConnected.value = isUp;
      if (isUp) isSignedOut.value = isLocked.value = false; // another tab may have signed in
      // The stream does not repeat events from while it was down, or from between the page's first request and its
      // first event.
      if (isUp && !wasUp) void Promise.all([loadRuns(), loadMarks().then(sendAgain)]);
    },
    shut() {
      isSignedOut.value = isConnected.peek() === false;
    },
  });
  effect(() => {
    if (isVisible.value && isConnected.peek() === false) again();
  });
}
