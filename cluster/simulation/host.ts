import type { Time, Timer } from '../time/time.js';
import type { VirtualTime } from './virtual-time.js';

export type HostState = 'running' | 'frozen' | 'dead';

/**
 * One process of a simulation. Everything reaches it as data (frames, store answers) or as a timer, so it can be
 * frozen or killed between any two steps. After a freeze the data runs before the timers, as in a real event loop
 * that was stopped.
 */
export class SimulatedHost {
  readonly name: string;
  readonly time: Time;
  readonly #world: VirtualTime;
  readonly #data: (() => void)[] = [];
  readonly #timers: (() => void)[] = [];
  readonly #onDeath: (() => void)[] = [];
  #state: HostState = 'running';
  /** The rate of its monotonic clock and the offset of its wall clock. */
  readonly #rate: number;
  #wallOffsetMs: number;
  /** Total time that its machine was paused: the monotonic clock stood still, the wall clock went on. */
  #pausedMs = 0;
  #pausedSinceMs: number | undefined;
  #stopsWallClock = false;

  constructor(
    world: VirtualTime,
    name: string,
    clock: { readonly rate?: number; readonly wallOffsetMs?: number } = {},
  ) {
    this.#world = world;
    this.name = name;
    this.#rate = clock.rate ?? 1;
    this.#wallOffsetMs = clock.wallOffsetMs ?? 0;
    this.time = {
      monotonicMs: () => ((this.#pausedSinceMs ?? world.monotonicMs()) - this.#pausedMs) * this.#rate,
      wallMs: () => world.wallMs() + this.#wallOffsetMs,
      after: (delayMs, action) => this.#after(delayMs / this.#rate, action),
      soon: (action) => {
        this.#after(0, action);
      },
    };
  }

  get state(): HostState {
    return this.#state;
  }

  get isDead(): boolean {
    return this.#state === 'dead';
  }

  /** Delivers an event from outside the process. */
  deliver(action: () => void): void {
    if (this.#state === 'running') action();
    else if (this.#state === 'frozen') this.#data.push(action);
  }

  /** A promise from outside, settled as this process would see it. */
  async receive<Value>(promise: Promise<Value>): Promise<Value> {
    return new Promise((resolve, reject) => {
      promise.then(
        (value) => this.deliver(() => resolve(value)),
        (error: unknown) =>
          this.deliver(() => reject(error instanceof Error ? error : new Error(String(error)))),
      );
    });
  }

  freeze(): void {
    if (this.#state === 'running') this.#state = 'frozen';
  }

  /** Freezes the whole machine, not only the process. `stopsWallClock`: it resumes with the time of the pause. */
  pause(stopsWallClock = false): void {
    if (this.#state !== 'running') return;
    this.#state = 'frozen';
    this.#pausedSinceMs = this.#world.monotonicMs();
    this.#stopsWallClock = stopsWallClock;
  }

  thaw(): void {
    if (this.#state !== 'frozen') return;
    this.#state = 'running';
    if (this.#pausedSinceMs !== undefined) {
      const pausedMs = this.#world.monotonicMs() - this.#pausedSinceMs;
      this.#pausedMs += pausedMs;
      if (this.#stopsWallClock) this.#wallOffsetMs -= pausedMs;
      this.#pausedSinceMs = undefined;
    }
    for (const queue of [this.#data, this.#timers]) {
      // One event each, as in a real loop: promise jobs run in between.
      for (const action of queue.splice(0)) this.#world.soon(() => this.deliver(action));
    }
  }

  kill(): void {
    this.#state = 'dead';
    for (const listener of this.#onDeath.splice(0)) listener();
  }

  onDeath(listener: () => void): void {
    this.#onDeath.push(listener);
  }

  setWallOffset(offsetMs: number): void {
    this.#wallOffsetMs = offsetMs;
  }

  #after(delayMs: number, action: () => void): Timer {
    let cancelled = false;
    const run = (): void => {
      if (!cancelled) action();
    };
    const timer = this.#world.after(delayMs, () => {
      if (this.#state === 'running') run();
      else if (this.#state === 'frozen') this.#timers.push(run);
    });
    return {
      cancel() {
        cancelled = true;
        timer.cancel();
      },
    };
  }
}
