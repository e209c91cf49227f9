/**
 * Compares two answers in a worker, which lives for one comparison. A report opened from a disk has no worker: it
 * compares in this thread, in small steps.
 */

import workerUrl from "../../lib/diff/diff.worker.ts?worker&url";
import { comparison, type Difference, type DiffPiece } from "../../lib/diff/diff";
import { trusted } from "../../lib/trustedScript";

/** The worker gives up after some seconds of work; before that its code may load over a slow tunnel. */
const BUDGET_MS = 60_000;
/** Less than a frame, so that the page stays responsive. */
const SLICE_MS = 10;

/** Compare two answers. The returned function cancels it. */
export function compare(
  first: readonly DiffPiece[],
  second: readonly DiffPiece[],
  done: (result: Difference) => void,
): () => void {
  if (workerUrl === "") return inSlices(comparison(first, second), done);
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

function inSlices<T>(work: Generator<undefined, T>, done: (result: T) => void): () => void {
  const goOn = (): void => {
    const end = performance.now() + SLICE_MS;
    let step = work.next();
    while (step.done !== true && performance.now() < end) step = work.next();
    if (step.done === true) done(step.value);
    else timer = setTimeout(goOn);
  };
  let timer = setTimeout(goOn);
  return () => clearTimeout(timer);
}
