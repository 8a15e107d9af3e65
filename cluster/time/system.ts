import { randomBytes } from 'node:crypto';
import type { Random, Time, Timer } from './time.js';

/** The real clocks and timers. */
export const systemTime: Time = {
  monotonicMs: () => performance.now(),
  wallMs: () => Date.now(),
  after(delayMs, action): Timer {
    const handle = setTimeout(action, delayMs);
    return { cancel: () => clearTimeout(handle) };
  },
  soon(action) {
    setImmediate(action);
  },
};

export const systemRandom: Random = {
  fraction: () => Math.random(),
  id: () => randomBytes(16).toString('hex'),
};
