/** A queue of work: a few tasks at a time, the latest request first. */

export class Queue {
  readonly #most: number;
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(most: number) {
    this.#most = most;
  }

  /** Run a task when its turn comes; null if nobody wants it any longer by then. */
  async take<T>(work: () => Promise<T>, isWanted: () => boolean): Promise<T | null> {
    if (this.#running < this.#most) this.#running += 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve)); // takes the slot of the finished task
    try {
      return isWanted() ? await work() : null;
    } finally {
      const next = this.#waiting.pop();
      if (next === undefined) this.#running -= 1;
      else next();
    }
  }
}
