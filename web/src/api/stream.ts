/** An open stream of events and its state. Runs in the shared worker or in the page. */

/**
 * A message to the page: the connection is `up` or `down`; `refused`: down, since the answer was not a stream; `event`
 * with the JSON of an `Event`.
 */
export type StreamMessage = { kind: "up" } | { kind: "down" } | { kind: "refused" } | { kind: "event"; data: string };

const AGAIN_MS = 1000;
const AGAIN_AFTER_REFUSAL_MS = 2000;
const DATA = "data: ";

/** The header that carries the key of the page: an `EventSource` would send none. */
export const keyHeader = (key: string): Record<string, string> => (key === "" ? {} : { "x-rolloupe-key": key });

/** Call `hear` with each line of a body, as it comes. */
export async function eachLine(body: ReadableStream<Uint8Array>, hear: (line: string) => void): Promise<void> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  for (let block = await reader.read(); !block.done; block = await reader.read()) {
    const pieces = (rest + decoder.decode(block.value, { stream: true })).split("\n");
    rest = pieces.pop() ?? "";
    for (const piece of pieces) hear(piece);
  }
}

/** Open the stream and keep it open: when it breaks or is refused (no session yet), this tries again. */
export class Stream {
  readonly #url: string;
  readonly #tell: (message: StreamMessage) => void;
  #key: string;
  #reading: AbortController | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isUp = false;

  constructor(url: string, key: string, tell: (message: StreamMessage) => void) {
    this.#url = url;
    this.#key = key;
    this.#tell = tell;
    this.open();
  }

  get isUp(): boolean {
    return this.#isUp;
  }

  /** Try now, if the stream is not open. */
  open(): void {
    clearTimeout(this.#timer);
    if (this.#reading !== null) return;
    this.#reading = new AbortController();
    void this.#read(this.#reading);
  }

  /** Use another key from now on. */
  use(key: string): void {
    if (key === this.#key) return;
    this.#key = key;
    this.open();
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#reading?.abort();
    this.#reading = null;
  }

  async #read(reading: AbortController): Promise<void> {
    const ended = await this.#ended(reading.signal);
    if (this.#reading !== reading) return;
    this.#reading = null;
    this.#set(ended);
    this.#timer = setTimeout(() => this.open(), ended === "down" ? AGAIN_MS : AGAIN_AFTER_REFUSAL_MS);
  }

  /** How the stream ended, once it has. */
  async #ended(signal: AbortSignal): Promise<"down" | "refused"> {
    try {
      const headers = { accept: "text/event-stream", ...keyHeader(this.#key) };
      const reply = await fetch(this.#url, { credentials: "same-origin", cache: "no-store", headers, signal });
      const isStream = reply.headers.get("content-type")?.startsWith("text/event-stream") === true;
      if (!reply.ok || !isStream || reply.body === null) {
        void reply.body?.cancel();
        return "refused";
      }
      this.#set("up");
      await eachLine(reply.body, (line) => {
        if (line.startsWith(DATA)) this.#tell({ kind: "event", data: line.slice(DATA.length) });
      });
    } catch {
      // The connection broke, or `close` ended it.
    }
    return "down";
  }

  #set(kind: "up" | "down" | "refused"): void {
    this.#isUp = kind === "up";
    this.#tell({ kind });
  }
}
