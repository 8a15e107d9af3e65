/** A bounded map that forgets what was not asked for the longest. */
export class RecencyCache<Value> {
  readonly #entries = new Map<string, Value>();
  readonly #entriesMax: number;
  readonly #onEvicted: (key: string, value: Value) => void;

  constructor(entriesMax: number, onEvicted: (key: string, value: Value) => void = () => undefined) {
    this.#entriesMax = entriesMax;
    this.#onEvicted = onEvicted;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: string): Value | undefined {
    const value = this.#entries.get(key);
    if (value === undefined) return undefined;
    // A Map keeps the order of insertion, so putting an entry in anew makes it the youngest.
    this.#entries.delete(key);
    this.#entries.set(key, value);
    return value;
  }

  set(key: string, value: Value): void {
    this.#entries.delete(key);
    this.#entries.set(key, value);
    if (this.#entries.size <= this.#entriesMax) return;
    for (const [oldestKey, oldest] of this.#entries) {
      this.#entries.delete(oldestKey);
      this.#onEvicted(oldestKey, oldest);
      return;
    }
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }

  clear(): void {
    this.#entries.clear();
  }

  /** Walks all entries: for rare events only. */
  deleteWhere(matches: (value: Value, key: string) => boolean): void {
    for (const [key, value] of this.#entries) {
      if (matches(value, key)) this.#entries.delete(key);
    }
  }
}
