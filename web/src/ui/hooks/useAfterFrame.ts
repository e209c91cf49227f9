/** Runs work that the reader does not wait for after the next frame. */

import { useEffect } from "preact/hooks";

/** Run `work` after the frame that shows other `inputs`; only the last one counts. */
export function useAfterFrame(work: () => void, inputs: readonly unknown[]): void {
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const frame = requestAnimationFrame(() => {
      timer = setTimeout(work);
    });
    return () => {
      cancelAnimationFrame(frame);
      clearTimeout(timer);
    };
    // The inputs stand for all that `work` depends on.
    // oxlint-disable-next-line react/exhaustive-deps
  }, inputs);
}
