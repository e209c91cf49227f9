/**
 * The shared worker: one stream of events for all the tabs of a browser, which opens six connections to a host at most.
 *
 * A tab says `{ url }` to listen, `"again"` to try a broken stream at once, `"bye"` when it goes.
 */

import { Stream, type StreamMessage } from "./stream";

/** The part of the worker's global scope in use here; TypeScript has either the page's types or the worker's. */
interface Scope {
  onconnect: ((event: MessageEvent) => void) | null;
}

const ports = new Set<MessagePort>();
let stream: Stream | null = null;

function tell(message: StreamMessage): void {
  for (const port of ports) port.postMessage(message);
}

function hear(port: MessagePort, message: unknown): void {
  if (message === "bye") {
    ports.delete(port);
    if (ports.size === 0) {
      stream?.close();
      stream = null;
    }
  } else if (message === "again") stream?.open();
  else if (typeof message === "object" && message !== null && "url" in message && typeof message.url === "string") {
    if (typeof EventSource === "undefined") return port.postMessage({ kind: "none" } satisfies StreamMessage);
    ports.add(port);
    stream ??= new Stream(message.url, tell);
    if (stream.isUp) port.postMessage({ kind: "up" } satisfies StreamMessage);
  }
}

(globalThis as unknown as Scope).onconnect = (event) => {
  const port = event.ports[0];
  if (port === undefined) return;
  port.addEventListener("message", (message: MessageEvent<unknown>) => hear(port, message.data));
  port.start();
};
