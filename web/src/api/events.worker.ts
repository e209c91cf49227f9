/**
 * The shared worker: one stream of events for all the tabs of a browser, which opens six connections to a host at most.
 *
 * A tab sends `{ url, key }` to listen or to change the key, `"again"` to retry a broken stream at once, and `"bye"`
 * when it closes.
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
  else if (isListening(message)) {
    ports.add(port);
    stream ??= new Stream(message.url, message.key, tell);
    stream.use(message.key);
    if (stream.isUp) port.postMessage({ kind: "up" } satisfies StreamMessage);
  }
}

const isListening = (message: unknown): message is { url: string; key: string } =>
  typeof message === "object" && message !== null && "url" in message && "key" in message;

(globalThis as unknown as Scope).onconnect = (event) => {
  const port = event.ports[0];
  if (port === undefined) return;
  port.addEventListener("message", (message: MessageEvent<unknown>) => hear(port, message.data));
  port.start();
};
