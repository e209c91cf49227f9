/**
 * The shared worker: one stream of events for all the tabs of a browser, which opens six connections to a host at most.
 *
 * A tab says `{ url }` to listen, `"again"` to try a broken stream at once, `"bye"` when it goes.
 */

import { Stream, type Told } from "./stream";

/** What of the worker's global scope is used here; TypeScript has either the page's types or the worker's. */
interface Scope {
  onconnect: ((event: MessageEvent) => void) | null;
}

const ports = new Set<MessagePort>();
let stream: Stream | null = null;

function tell(told: Told): void {
  for (const port of ports) port.postMessage(told);
}

function hear(port: MessagePort, said: unknown): void {
  if (said === "bye") {
    ports.delete(port);
    if (ports.size === 0) {
      stream?.close();
      stream = null;
    }
  } else if (said === "again") stream?.open();
  else if (typeof said === "object" && said !== null && "url" in said && typeof said.url === "string") {
    if (typeof EventSource === "undefined") return port.postMessage({ kind: "none" } satisfies Told);
    ports.add(port);
    stream ??= new Stream(said.url, tell);
    if (stream.isUp) port.postMessage({ kind: "up" } satisfies Told);
  }
}

(globalThis as unknown as Scope).onconnect = (event) => {
  const port = event.ports[0];
  if (port === undefined) return;
  port.addEventListener("message", (message: MessageEvent<unknown>) => hear(port, message.data));
  port.start();
};
