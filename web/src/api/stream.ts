/** One open stream of events, and whether it is up. Runs in the shared worker or in the page. */

/**
 * A message to the page: the connection is `up` or `down`; `refused`: down, since the answer was not a stream; `event`
 * with the JSON of an `Event`; `none`: the worker's browser has no streams in workers.
 */
export type StreamMessage =
  { kind: "up" } | { kind: "down" } | { kind: "refused" } | { kind: "none" } | { kind: "event"; data: string };

const AGAIN_MS = 2000;

/** Open the stream and keep it open. A browser gives up after a refusal (no session yet); this stream tries again. */
export class Stream {
  readonly #url: string;
  readonly #tell: (message: StreamMessage) => void;
  #source: EventSource | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isUp = false;

  constructor(url: string, tell: (message: StreamMessage) => void) {
    this.#url = url;
    this.#tell = tell;
    this.open();
  }

  get isUp(): boolean {
    return this.#isUp;
  }

  /** Try now, if the stream is not open. */
  open(): void {
    clearTimeout(this.#timer);
    if (this.#source !== null && this.#source.readyState !== EventSource.CLOSED) return;
    const source = new EventSource(this.#url);
    this.#source = source;
    source.addEventListener("open", () => this.#set("up"));
    source.addEventListener("message", (message: MessageEvent<string>) =>
      this.#tell({ kind: "event", data: message.data }),
    );
    source.addEventListener("error", () => {
      const isRefused = source.readyState === EventSource.CLOSED;
      this.#set(isRefused ? "refused" : "down");
      if (isRefused) this.#timer = setTimeout(() => this.open(), AGAIN_MS);
    });
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#source?.close();
    this.#source = null;
  }

  #set(kind: "up" | "down" | "refused"): void {
    this.#isUp = kind === "up";
    this.#tell({ kind });
  }
}
