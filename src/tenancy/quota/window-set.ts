import type { LRUCache } from 'lru-cache';
import { recentEntries } from '../../kernel/recent-entries.js';

/** Windows by name: created on first use, dropped when idle, bounded in number. */
export class WindowSet<Window extends { isIdle(nowMs: number): boolean }> {
  readonly #windows: LRUCache<string, Window>;
  readonly #make: () => Window;

  /** Beyond `windowsMax`, the least recently used window is dropped with its count. */
  constructor(windowsMax: number, make: () => Window) {
    this.#windows = recentEntries<Window>(windowsMax);
    this.#make = make;
  }

  get size(): number {
    return this.#windows.size;
  }

  window(name: string): Window {
    let window = this.#windows.get(name);
    if (window === undefined) this.#windows.set(name, (window = this.#make()));
    return window;
  }

  /** Reads a window without creating it or marking it as used. */
  peek(name: string): Window | undefined {
    return this.#windows.peek(name);
  }

  drop(name: string): void {
    this.#windows.delete(name);
  }

  /** Drops idle windows. The least recently used come first, so this stops at the first busy one. */
  dropIdle(nowMs: number): void {
    for (const name of this.#windows.rkeys()) {
      if (this.#windows.peek(name)?.isIdle(nowMs) === false) return;
      this.#windows.delete(name);
    }
  }
}
