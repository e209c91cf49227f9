/** The first requests, once the server accepts this browser. */

import type { Session } from "./session";
import { isLocked } from "./browser/login";
import { connect } from "./connection";
import { loadMarks } from "./marks";
import { loadRuns } from "./runs";

let isConnecting = false;

/** Load the runs, and listen for changes. */
export async function start(): Promise<void> {
  if (isLocked.peek()) return;
  const marks = loadMarks(); // many marks take time, so nothing else waits for them
  await loadRuns();
  if (!isLocked.peek() && !isConnecting) {
    isConnecting = true;
    connect();
  }
  await marks;
}

/** Drop all loaded data, and load again. */
export async function startAgain(session: Session): Promise<void> {
  session.forget();
  await loadRuns();
}
