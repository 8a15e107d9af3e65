import { writeSync } from 'node:fs';
import { workerData } from 'node:worker_threads';

export interface WatchdogSettings {
  readonly memory: SharedArrayBuffer;
  readonly boundMs: number;
  readonly everyMs: number;
}

const { memory, boundMs, everyMs } = workerData as WatchdogSettings;
const ticks = new Int32Array(memory);
let seen = Atomics.load(ticks, 0);
let silentMs = 0;
let lookedAtMs = performance.now();

function look(): void {
  const nowMs = performance.now();
  // A longer gap is one in which this thread did not run either.
  const passedMs = Math.min(nowMs - lookedAtMs, everyMs * 2);
  lookedAtMs = nowMs;
  const found = Atomics.load(ticks, 0);
  silentMs = found === seen ? silentMs + passedMs : 0;
  seen = found;
  if (silentMs < boundMs) return;
  // Not through the main thread, which does not listen; and not by its exit handlers, which it would not run.
  writeSync(
    2,
    `watchdog: the main loop has not run for ${Math.round(silentMs)} ms; ending process ${process.pid}\n`,
  );
  process.kill(process.pid, 'SIGKILL');
}

setInterval(look, everyMs);
