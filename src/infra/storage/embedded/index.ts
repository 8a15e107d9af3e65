// An embedded PostgreSQL, for machines with only Node and npm.
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { realpath } from 'node:fs/promises';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { makeFolder } from '../folders.js';
import { EmbeddedPostgresError } from './errors.js';
import { keeperMark } from './holder.js';
import { applicationDatabase, applicationRole } from './initialise.js';
import { reportSchema } from './keeper-messages.js';
import type { KeeperOrder, KeeperReport } from './keeper-messages.js';

export { EmbeddedPostgresError } from './errors.js';
export { runningEmbeddedPostgres } from './running.js';

export type EmbeddedPostgresOptions = {
  /** Created if missing; contains only the data. */
  readonly directory: string;
  /** PostgreSQL settings in addition to the defaults, e.g. `{ shared_buffers: '256MB' }`. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Whether a newly made data directory is flushed to disk before its first use; true by default. */
  readonly flush?: boolean;
};

export type EmbeddedPostgres = {
  /** An account without superuser rights that owns the database; on loopback, with a generated password. */
  readonly connectionString: string;
  /** Resolves when PostgreSQL has ended, also if `stop` was not called. */
  readonly ended: Promise<void>;
  /** Stops PostgreSQL after all data is written. May be called more than once. */
  stop(): Promise<void>;
};

/** A node opens about thirty connections, and a local cluster has several nodes. */
const defaultSettings = { max_connections: '300' };

/** Starts PostgreSQL on `directory`; it ends with `stop()`, or when this process dies for any reason. */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const directory = await prepare(options.directory);
  const keeper = spawn(
    process.execPath,
    [fileURLToPath(new URL('keeper.js', import.meta.url)), `${keeperMark}:${process.pid}`],
    { cwd: directory, detached: true, stdio: ['ignore', 'ignore', 'ignore', 'ipc'], windowsHide: true },
  );
  const ended = new Promise<void>((resolveEnded) => keeper.once('exit', () => resolveEnded()));
  const report = firstReport(keeper);
  order(keeper, {
    type: 'start',
    directory,
    settings: { ...defaultSettings, ...options.settings },
    flush: options.flush ?? true,
  });
  const answer = await report;
  if (answer.type === 'failed') {
    await ended;
    throw new EmbeddedPostgresError(answer.failure, answer.message);
  }
  // Does not keep the node alive; the keeper notices that the channel closes.
  keeper.unref();
  keeper.channel?.unref();
  return {
    connectionString: `postgresql://${applicationRole}:${answer.password}@127.0.0.1:${answer.port}/${applicationDatabase}`,
    ended,
    stop: async () => {
      keeper.ref();
      if (keeper.connected) order(keeper, { type: 'stop' });
      await ended;
    },
  };
}

/** The real path: `findHolder` searches the process list for it. */
async function prepare(directory: string): Promise<string> {
  await makeFolder(resolve(directory));
  return realpath(directory);
}

function order(keeper: ChildProcess, message: KeeperOrder): void {
  // A failed send means that the keeper ended, which `exit` reports.
  keeper.send(message, () => undefined);
}

function firstReport(keeper: ChildProcess): Promise<KeeperReport> {
  return new Promise((resolveReport, reject) => {
    keeper.once('error', reject);
    keeper.once('message', (message) => resolveReport(reportSchema.parse(message)));
    keeper.once('exit', (code, signal) => {
      const lost = (): void =>
        reject(
          new EmbeddedPostgresError(
            'keeper-lost',
            `The keeper process of PostgreSQL ended before PostgreSQL was ready (${signal ?? `exit ${code}`})`,
          ),
        );
      // Its last message may still be in transit: the end of a process and of its channel arrive in any order.
      if (keeper.connected) keeper.once('disconnect', () => setImmediate(lost));
      else setImmediate(lost);
    });
  });
}
