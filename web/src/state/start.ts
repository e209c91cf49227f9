/** What is asked first, once the server lets this browser in. */

import type { Session } from "./session";
import { isLocked } from "./browser/login";
import { connect } from "./connection";
import { loadMarks } from "./marks";
import { loadRuns } from "./runs";

let isConnecting = false;

/** Ask for the runs, and listen for what changes. */
export async function start(): Promise<void> {
  if (isLocked.peek()) return;
  const marks = loadMarks(); // many take their time, and nothing else waits for them
  await loadRuns();
  if (!isLocked.peek() && !isConnecting) {
    isConnecting = true;
    connect();
  }
  await marks;
}

/** Forget all that was fetched, and ask again. */
export async function startAgain(session: Session): Promise<void> {
  session.forget();
  await loadRuns();
}
