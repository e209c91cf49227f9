/** Work that waits for its turn: so much at a time, and what was asked for last comes first. */

export class Queue {
  readonly #most: number;
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(most: number) {
    this.#most = most;
  }

  /** Do work in its turn; null where nobody wants it any longer by then. */
  async take<T>(work: () => Promise<T>, isWanted: () => boolean): Promise<T | null> {
    if (this.#running < this.#most) this.#running += 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve)); // the place of the one that has ended
    try {
      return isWanted() ? await work() : null;
    } finally {
      const next = this.#waiting.pop();
      if (next === undefined) this.#running -= 1;
      else next();
    }
  }
}
