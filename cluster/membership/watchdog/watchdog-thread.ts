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
let checkedAtMs = performance.now();

function check(): void {
  const nowMs = performance.now();
  // A longer gap means that this thread did not run either.
  const passedMs = Math.min(nowMs - checkedAtMs, everyMs * 2);
  checkedAtMs = nowMs;
  const found = Atomics.load(ticks, 0);
  silentMs = found === seen ? silentMs + passedMs : 0;
  seen = found;
  if (silentMs < boundMs) return;
  // The main thread is blocked, so neither its output nor its exit handlers can be used.
  writeSync(
    2,
    `watchdog: the main loop has not run for ${Math.round(silentMs)} ms; ending process ${process.pid}\n`,
  );
  process.kill(process.pid, 'SIGKILL');
}

setInterval(check, everyMs);
