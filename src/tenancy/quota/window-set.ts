import { LRUCache } from 'lru-cache';
import { SlidingWindow } from './sliding-window.js';

/** Windows by name, made when first asked for, dropped when idle, and never more than a fixed number. */
export class WindowSet {
  readonly #windows: LRUCache<string, SlidingWindow>;

  /** Beyond `windowsMax`, the window that was not used for longest is forgotten, and with it what it counted. */
  constructor(windowsMax: number) {
    this.#windows = new LRUCache({ max: windowsMax });
  }

  get size(): number {
    return this.#windows.size;
  }

  window(name: string): SlidingWindow {
    let window = this.#windows.get(name);
    if (window === undefined) this.#windows.set(name, (window = new SlidingWindow()));
    return window;
  }

  /** To look at only: neither makes the window nor keeps it. */
  peek(name: string): SlidingWindow | undefined {
    return this.#windows.peek(name);
  }

  drop(name: string): void {
    this.#windows.delete(name);
  }

  /** Drops idle windows. They stand at the end that was not used for longest, so this stops at the first busy one. */
  dropIdle(nowMs: number): void {
    for (const name of this.#windows.rkeys()) {
      if (this.#windows.peek(name)?.isIdle(nowMs) === false) return;
      this.#windows.delete(name);
    }
  }
}
