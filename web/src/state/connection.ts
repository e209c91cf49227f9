/** The stream of the server's events, one for the page: runs that grow, and what a person added elsewhere. */

import { effect, signal } from "@preact/signals";
import { listen } from "../api/events";
import { isLocked, isSignedOut } from "./browser/login";
import { isVisible } from "./browser/visibility";
import { loadMarks, sendAgain } from "./marks";
import { loadRuns, updateRun } from "./runs";

/** Null before the first word of the server. */
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
      // What happened before is not told: while the stream was down, or between the page's first question and its first
      // word.
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
