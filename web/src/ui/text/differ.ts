/** The page's side of the worker that compares two answers: started for one comparison, and ended with it. */

import workerUrl from "../../lib/diff/diff.worker.ts?worker&url";
import type { Difference, DiffPiece } from "../../lib/diff/diff";
import { trusted } from "../../lib/trustedScript";

/** The worker gives up after some seconds of work; its code may have to come over a slow tunnel first. */
const BUDGET_MS = 60_000;

/** Compare two answers. The returned function cancels it. */
export function compare(
  first: readonly DiffPiece[],
  second: readonly DiffPiece[],
  done: (result: Difference) => void,
): () => void {
  const worker = new Worker(trusted(new URL(workerUrl, import.meta.url).href), { type: "module", name: "diff" });
  const end = (result: Difference | null): void => {
    clearTimeout(timer);
    worker.terminate();
    if (result !== null) done(result);
  };
  const timer = setTimeout(() => end({ refused: "it took too long" }), BUDGET_MS);
  worker.onmessage = ({ data }: MessageEvent<Difference>) => end(data);
  worker.onerror = () => end({ refused: "the comparison did not start" });
  worker.postMessage({ first, second });
  return () => end(null);
}
