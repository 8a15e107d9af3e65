// The keeper: a small process between the node and PostgreSQL, in a session of its own.
//
// PostgreSQL must not get the Ctrl-C of the node's terminal (it would go before the node has drained),
// and must not outlive a node that was killed. So the keeper is detached, ignores the signals of
// others, and lives by one thing alone: the channel to its node. When the node asks, or the channel
// closes because the node died, it stops PostgreSQL and ends.
import { setTimeout as delay } from 'node:timers/promises';
import { become, findAccount } from './account.js';
import { findBinaries } from './binaries.js';
import { EmbeddedPostgresError } from './errors.js';
import { giveFolder } from './folder.js';
import { findHolder, isAlive } from './holder.js';
import { dataFolder, initialise } from './initialise.js';
import { orderSchema } from './keeper-messages.js';
import type { KeeperReport, StartOrder } from './keeper-messages.js';
import { planLaunch } from './launch.js';
import { PostmasterEnded, startPostmaster } from './postmaster.js';
import type { Postmaster } from './postmaster.js';
import { reachablePrograms } from './programs.js';

/** How long a start waits for a predecessor: longer than PostgreSQL is given to stop. */
const predecessorMs = 30_000;
/** How long a living neighbour may take to end, when it is on its way out just now. */
const neighbourMs = 1_500;
const pollMs = 20;

let postmaster: Postmaster | undefined;
let stopping = false;

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
process.on('disconnect', () => void leave());
// Whatever is wrong here, PostgreSQL must not be left behind.
process.on('uncaughtException', () => void leave());
process.on('message', (message) => {
  const order = orderSchema.parse(message);
  void (order.type === 'stop' ? leave() : start(order));
});

async function start(order: StartOrder): Promise<void> {
  try {
    const found = await findBinaries();
    const account = await findAccount(order.directory);
    const binaries = account === undefined ? found : await reachablePrograms(account, found);
    if (account !== undefined) {
      await giveFolder(order.directory, account);
      // From here on nothing is done as root: what that account can write, it could turn against root.
      become(account);
    }
    const launch = await planLaunch(account !== undefined);
    const { data, password } = await initialise({ ...order, binaries, launch });
    postmaster = await takeOver(
      () => startPostmaster({ data, dataFolder, binaries, launch, settings: order.settings }),
      data,
    );
    // The node may have died while PostgreSQL started.
    if (stopping) await leave();
    void postmaster.ended.then(() => process.exit(stopping ? 0 : 1));
    report({ type: 'ready', port: postmaster.port, password });
  } catch (error) {
    const failure = error instanceof EmbeddedPostgresError ? error.failure : 'not-started';
    report({ type: 'failed', failure, message: describe(error) });
    process.exitCode = 1;
    if (process.connected) process.disconnect();
  }
}

/** Starts, after whoever had the directory before has let go of it. */
async function takeOver(attempt: () => Promise<Postmaster>, data: string): Promise<Postmaster> {
  const startedAt = performance.now();
  let attempts = 0;
  for (;;) {
    const holder = await findHolder(data, dataFolder);
    const waitedMs = performance.now() - startedAt;
    if (holder.state === 'none') {
      try {
        return await attempt();
      } catch (error) {
        // Another start was faster, or another program took the port: look again.
        attempts += 1;
        if (!(error instanceof PostmasterEnded) || attempts >= 5) throw error;
        if (
          (await findHolder(data, dataFolder)).state === 'none' &&
          !error.lines.some((line) => line.includes('bind'))
        )
          throw error;
      }
    } else if (waitedMs > (holder.state === 'in-use' ? neighbourMs : predecessorMs)) {
      throw new EmbeddedPostgresError(
        'in-use',
        `The data directory ${data} is in use by a running PostgreSQL (process ${holder.pid}), most likely of ` +
          'another node on this machine. Stop that one, or give this one another TROUPE_DATA_DIR.',
      );
    } else if (holder.state === 'orphaned' && isAlive(holder.pid)) {
      process.kill(holder.pid, 'SIGINT');
    }
    await delay(pollMs);
  }
}

async function leave(): Promise<void> {
  stopping = true;
  // Not started yet: start() looks at `stopping` when it is.
  await postmaster?.stop();
  if (postmaster !== undefined) process.exit(0);
}

function report(message: KeeperReport): void {
  // A node that died does not hear it, and its channel's closing has been seen already.
  if (process.connected) process.send?.(message, () => undefined);
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const stderr: unknown = Reflect.get(error, 'stderr');
  // Of a program that failed, its own words count, not the command line that it was called with.
  if (typeof stderr === 'string' && stderr.trim() !== '') return lastWords(stderr);
  return error.cause === undefined ? error.message : `${error.message}: ${describe(error.cause)}`;
}

const wordsMax = 400;

/** The lines that say what went wrong, on one line. */
function lastWords(output: string): string {
  const lines = output.split('\n').filter((line) => line.trim() !== '');
  const telling = lines.filter((line) => /FATAL|PANIC|HINT|could not|error:/.test(line));
  return (telling.length > 0 ? telling : lines.slice(-2)).join(' | ').slice(0, wordsMax);
}
