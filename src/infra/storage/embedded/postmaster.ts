// One run of the PostgreSQL server: start, wait until it accepts connections, stop.
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import type { Binaries } from './binaries.js';
import type { Launch } from './launch.js';

export type Postmaster = {
  readonly port: number;
  /** Resolves when the server has ended, for any reason. */
  readonly ended: Promise<void>;
  /** Fast shutdown: rolls back open transactions, writes everything, does not wait for clients. */
  stop(): Promise<void>;
};

export type PostmasterOptions = {
  readonly data: string;
  /** The same directory relative to this process. */
  readonly dataFolder: string;
  readonly binaries: Binaries;
  readonly launch: Launch;
  readonly settings: Readonly<Record<string, string>>;
};

const stopMs = 20_000;

/** The server ended before it was ready; `lines` is the end of its output. */
export class PostmasterEnded extends Error {
  override readonly name = 'PostmasterEnded';
  readonly lines: readonly string[];

  constructor(lines: readonly string[]) {
    super(`PostgreSQL ended at its start: ${lines.slice(-3).join(' | ')}`);
    this.lines = lines;
  }
}

/** The node's environment contains secrets; PostgreSQL runs under another account and gets none of them. */
export function childEnvironment(): Record<string, string> {
  const env: Record<string, string> = { LC_ALL: 'C', TZ: 'UTC' };
  for (const name of ['PATH', 'TMPDIR', 'TEMP', 'SystemRoot']) {
    const value = process.env[name];
    if (value !== undefined) env[name] = value;
  }
  return env;
}

export async function startPostmaster(options: PostmasterOptions): Promise<Postmaster> {
  const port = await freePort();
  const settings = {
    ...options.settings,
    listen_addresses: '127.0.0.1',
    port: String(port),
    unix_socket_directories: '',
    logging_collector: 'off',
    // The application reports failed statements; here they would fill the log.
    log_min_messages: 'log',
    // Has no effect on PostgreSQL; it shows the data directory in the process list.
    'troupe.data_directory': options.data,
  };
  const [command, ...args] = [
    ...options.launch.prefix,
    options.binaries.postgres,
    '-D',
    options.launch.dataName(options.data),
    ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
  ];
  const child = spawn(command ?? options.binaries.postgres, args, {
    cwd: options.dataFolder,
    env: childEnvironment(),
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  await ready(child);
  return { port, ended, stop: () => stop(child, ended, options) };
}

/** Waits for the "ready" line; keeps the last lines for the error message. */
async function ready(child: ChildProcess): Promise<void> {
  const lines: string[] = [];
  await new Promise<void>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', () => reject(new PostmasterEnded(lines)));
    if (child.stderr === null) throw new Error('the standard error of PostgreSQL is not piped');
    createInterface({ input: child.stderr }).on('line', (line) => {
      lines.push(line);
      if (lines.length > 20) lines.shift();
      if (line.includes('database system is ready to accept connections')) resolve();
    });
  });
}

async function stop(child: ChildProcess, ended: Promise<void>, options: PostmasterOptions): Promise<void> {
  if (process.platform === 'win32') {
    // Windows has no signals; pg_ctl uses its own channel to the server.
    spawn(options.binaries.pgCtl, ['stop', '-D', options.data, '-m', 'fast'], { stdio: 'ignore' });
  } else {
    child.kill('SIGINT');
  }
  const timer = new AbortController();
  const late = delay(stopMs, 'late', { signal: timer.signal }).catch(() => 'ended'); // aborted below
  if ((await Promise.race([ended, late])) === 'late') child.kill('SIGQUIT'); // immediate; recovers at the next start
  timer.abort();
  await ended;
}

/** Free at the time of the call; if another program takes it meanwhile, the caller retries. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('a TCP listener has an address');
  return address.port;
}
