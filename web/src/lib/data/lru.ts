/**
 * A bounded cache: drops the least recently used values first, and loads a value that several callers want only once.
 */

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

  /** `limit` bounds the sum of `size(value)`; the newest value always stays. */
  constructor(limit: number, size: (value: T) => number = () => 1) {
    this.#limit = limit;
    this.#size = size;
  }

  /** The cached value of a key. */
  peek(key: string): T | undefined {
    const result = this.#entries.get(key);
    if (result === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, result);
    return result.value;
  }

  /** Cache a value, and drop the oldest ones. */
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

  /** The cached value, else the result of `load`. Callers during a load share its result. */
  async get(key: string, load: () => Promise<T>): Promise<T> {
    return this.peek(key) ?? this.renew(key, load);
  }

  /** The result of `load`, whether or not a value is cached. */
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

  /** Forget all values, and all loads under way. */
  clear(): void {
    this.#entries.clear();
    this.#wanted.clear();
    this.#total = 0;
  }
}
