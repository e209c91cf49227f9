/** The worker that compares two answers, so that the page never waits for it. */

import { type Difference, difference, type DiffPiece } from "./diff";

interface Port {
  onmessage: ((event: MessageEvent<{ first: DiffPiece[]; second: DiffPiece[] }>) => void) | null;
  postMessage: (message: Difference) => void;
}

const port = globalThis as unknown as Port;

port.onmessage = ({ data: { first, second } }) => port.postMessage(difference(first, second));
