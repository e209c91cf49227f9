/** A bounded memory of what was fetched: least recently used goes first. Asks once for what is wanted twice. */

interface Entry<T> {
  value: T;
  size: number;
}

export class Lru<T> {
  readonly #limit: number;
  readonly #size: (value: T) => number;
  readonly #entries = new Map<string, Entry<T>>();
  readonly #wanted = new Map<string, Promise<T>>();
  #total = 0;

  /** `limit` bounds the sum of `size(value)`; the newest value is always kept. */
  constructor(limit: number, size: (value: T) => number = () => 1) {
    this.#limit = limit;
    this.#size = size;
  }

  /** What is kept under the key. */
  peek(key: string): T | undefined {
    const result = this.#entries.get(key);
    if (result === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, result);
    return result.value;
  }

  /** Keep a value, and let go of the oldest. */
  put(key: string, value: T): void {
    this.drop(key);
    const size = this.#size(value);
    this.#entries.set(key, { value, size });
    this.#total += size;
    for (const oldest of this.#entries.keys()) {
      if (this.#total <= this.#limit || oldest === key) return;
      this.drop(oldest);
    }
  }

  /** What is kept, else what `load` brings. Who asks while it is on its way gets the same. */
  async get(key: string, load: () => Promise<T>): Promise<T> {
    return this.peek(key) ?? this.renew(key, load);
  }

  /** What `load` brings, whatever is kept. */
  async renew(key: string, load: () => Promise<T>): Promise<T> {
    const target = this.#wanted.get(key);
    if (target !== undefined) return target;
    const promise = load();
    this.#wanted.set(key, promise);
    try {
      const value = await promise;
      if (this.#wanted.get(key) === promise) this.put(key, value);
      return value;
    } finally {
      if (this.#wanted.get(key) === promise) this.#wanted.delete(key);
    }
  }

  drop(key: string): void {
    const result = this.#entries.get(key);
    if (result === undefined) return;
    this.#entries.delete(key);
    this.#total -= result.size;
  }

  /** Forget everything, and whatever is on its way. */
  clear(): void {
    this.#entries.clear();
    this.#wanted.clear();
    this.#total = 0;
  }
}
