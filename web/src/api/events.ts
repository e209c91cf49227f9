/**
 * Events of the server, from a stream that all tabs share, or from one of this tab if the browser has no shared
 * workers.
 */

import { address, isRefused, pageKey } from "./client";
import workerUrl from "./events.worker.ts?sharedworker&url";
import { trusted } from "../lib/trustedScript";
import { Stream, type StreamMessage } from "./stream";
import type { Event } from "./types.gen";

export interface Listener {
  event(event: Event): void;
  /** The connection came up, or broke off. */
  connection(isUp: boolean): void;
  /** The server answers, and asks for its token. */
  shut(): void;
}

/** Listen. The returned function tries a broken connection again at once. */
export function listen(listener: Listener): () => void {
  const url = address(["events"]);
  let ownStream: Stream | null = null;
  const alone = (): void => {
    ownStream ??= new Stream(url, pageKey(), hear);
  };
  const hear = (message: StreamMessage): void => {
    if (message.kind === "event") read(message.data, listener);
    else listener.connection(message.kind === "up");
    if (message.kind === "refused") void isRefused(url).then((isSo) => (isSo ? listener.shut() : nameKey()));
  };
  /** A login gives another key, in this tab or in another. */
  const nameKey = (): void => (ownStream === null ? port?.postMessage(wish(url)) : ownStream.use(pageKey()));
  const port = shared(url, hear, alone);
  if (port === null) alone();
  return () => (ownStream === null ? port?.postMessage("again") : ownStream.open());
}

const wish = (url: string): { url: string; key: string } => ({ url, key: pageKey() });

/** Listen to the shared worker and return its port; null without one. Calls `failed` if it does not start. */
function shared(url: string, hear: (message: StreamMessage) => void, failed: () => void): MessagePort | null {
  if (typeof SharedWorker === "undefined") return null;
  let worker: SharedWorker;
  try {
    worker = new SharedWorker(trusted(new URL(workerUrl, import.meta.url).href), {
      type: "module",
      name: document.baseURI,
    });
  } catch {
    return null;
  }
  const { port } = worker;
  worker.addEventListener("error", failed);
  port.addEventListener("message", (event: MessageEvent<StreamMessage>) => hear(event.data));
  port.start();
  port.postMessage(wish(url));
  addEventListener("pagehide", () => port.postMessage("bye"));
  addEventListener("pageshow", (shown) => {
    // A page that comes back from the browser's memory must listen again.
    if (shown.persisted) port.postMessage(wish(url));
  });
  return port;
}

function read(data: string, listener: Listener): void {
  try {
    listener.event(JSON.parse(data) as Event);
  } catch {
    // A server that ends may send half a message; the next message says everything again.
  }
}
