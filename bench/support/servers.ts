import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { cpuSecondsBelow } from './processes.js';

export interface BenchServer {
  readonly name: string;
  readonly port: number;
  /** Further values that the server sent at its start. */
  readonly facts: Readonly<Record<string, string>>;
  /** CPU seconds that the process has used so far. */
  cpuSeconds(): Promise<number>;
  /** CPU seconds of its child processes, such as the database; NaN on systems without /proc. */
  cpuSecondsBelow(): number;
  /** Resident memory, after a garbage collection if the process exposes one. */
  residentBytes(): Promise<number>;
  /** Size of the JavaScript heap at the same moment. */
  heapBytes(): Promise<number>;
  stop(): Promise<void>;
}

interface Started {
  readonly port: number;
  readonly facts?: Record<string, string>;
}

interface Memory {
  readonly residentBytes: number;
  readonly heapBytes: number;
}

const pins = availableParallelism() > 1 && spawnSync('taskset', ['-c', '0', 'true']).status === 0;

/** Starts a server program in its own process, pinned to the first core if the system supports it. */
export async function startServer(name: string, module: string, base: string): Promise<BenchServer> {
  const path = fileURLToPath(new URL(module, base));
  // BENCH_PROFILE=<folder> writes a CPU profile of each server into it.
  const folder = process.env['BENCH_PROFILE'];
  // Servers run on one core, as nodes do: docs/decisions/0237.
  const program = [
    '--v8-pool-size=1',
    ...(folder === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${folder}`]),
    path,
  ];
  const [command, args] = pins
    ? ['taskset', ['-c', '0', process.execPath, ...program]]
    : [process.execPath, program];
  const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  const started = await message<Started>(child, name);
  return {
    name,
    port: started.port,
    facts: started.facts ?? {},
    cpuSeconds: async () => {
      child.send('cpu');
      const { cpuSeconds } = await message<{ cpuSeconds: number }>(child, name);
      return cpuSeconds;
    },
    cpuSecondsBelow: () => cpuSecondsBelow(child.pid ?? 0),
    residentBytes: async () => (await memoryOf(child, name)).residentBytes,
    heapBytes: async () => (await memoryOf(child, name)).heapBytes,
    stop: () =>
      new Promise((resolve) => {
        child.once('exit', () => resolve());
        child.send('stop');
      }),
  };
}

function memoryOf(child: ChildProcess, name: string): Promise<Memory> {
  child.send('memory');
  return message<Memory>(child, name);
}

function message<Message>(child: ChildProcess, name: string): Promise<Message> {
  return new Promise((resolve, reject) => {
    const died = (code: number | null): void => reject(new Error(`${name} exited with code ${code}`));
    child.once('exit', died);
    child.once('message', (received) => {
      child.off('exit', died);
      resolve(received as Message);
    });
  });
}

/** The server side of `startServer`: a server program calls it once it listens. */
export function serveBench(started: Started, stop: () => Promise<void>): void {
  process.send?.(started);
  // Stops the server if the benchmark is interrupted.
  process.on('disconnect', () => void stop().then(() => process.exit(0)));
  process.on('message', (order) => {
    if (order === 'cpu') {
      const { user, system } = process.cpuUsage();
      process.send?.({ cpuSeconds: (user + system) / 1e6 });
    } else if (order === 'memory') {
      globalThis.gc?.();
      const { rss, heapUsed, external } = process.memoryUsage();
      process.send?.({ residentBytes: rss, heapBytes: heapUsed + external } satisfies Memory);
    } else {
      void stop().then(() => process.exit(0));
    }
  });
}

/** Pins this process, which generates the load, to the other core. */
export function pinLoad(): void {
  if (pins) spawnSync('taskset', ['-cp', '1', String(process.pid)]);
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((one, other) => one - other);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
