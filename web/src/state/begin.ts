/** The beginning: what is asked first, once the server lets this browser in. */

import { forgetLists } from "./list";
import { loadMarks } from "./marks";
import { loadRuns } from "./runs";
import { forgetSamples } from "./sample";
import { isLocked } from "./session";
import { forgetSteps } from "./steps";
import { startLive } from "./live";

let isListening = false;

/** Ask for the runs, and listen for what changes. */
export async function begin(): Promise<void> {
  if (isLocked.peek()) return;
  const marks = loadMarks(); // many take their time, and nothing else waits for them
  await loadRuns();
  if (!isLocked.peek() && !isListening) {
    isListening = true;
    startLive();
  }
  await marks;
}

/** Forget all that was fetched, and ask again. */
export async function beginAgain(): Promise<void> {
  forgetLists();
  forgetSteps();
  forgetSamples();
  await loadRuns();
}
