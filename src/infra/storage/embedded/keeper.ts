// The keeper: a small process between the node and PostgreSQL, in its own session.
//
// PostgreSQL must not receive the Ctrl-C of the node's terminal (it would stop before the node has drained), and must
// not outlive a killed node. So the keeper is detached, ignores signals, and depends only on the channel to its node:
// when the node asks, or the channel closes because the node died, it stops PostgreSQL and ends.
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

/** How long a start waits for a predecessor to end: longer than PostgreSQL's time to stop. */
const predecessorMs = 30_000;
/** How long a start waits for a running node that may be stopping. */
const neighbourMs = 1_500;
const pollMs = 20;

let postmaster: Postmaster | undefined;
let stopping = false;

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
process.on('disconnect', () => void leave());
// On any error, PostgreSQL must not be left running.
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
      // From here on nothing runs as root: a file that the account can write could be used against root.
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

/** Starts PostgreSQL once the previous user of the directory has released it. */
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
        // A concurrent start was faster, or another program took the port: check again.
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
          'another node on this machine. Stop that node, or set another TROUPE_DATA_DIR for this one.',
      );
    } else if (holder.state === 'orphaned' && isAlive(holder.pid)) {
      process.kill(holder.pid, 'SIGINT');
    }
    await delay(pollMs);
  }
}

async function leave(): Promise<void> {
  stopping = true;
  // If it has not started yet, start() checks `stopping` afterwards.
  await postmaster?.stop();
  if (postmaster !== undefined) process.exit(0);
}

function report(message: KeeperReport): void {
  // After the node's death nobody reads the message, and `disconnect` has been handled.
  if (process.connected) process.send?.(message, () => undefined);
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const stderr: unknown = Reflect.get(error, 'stderr');
  // For a failed program, use its own output instead of its command line.
  if (typeof stderr === 'string' && stderr.trim() !== '') return lastErrorLines(stderr);
  return error.cause === undefined ? error.message : `${error.message}: ${describe(error.cause)}`;
}

const outputCharsMax = 400;

/** The lines of the output that explain the failure, joined into one. */
function lastErrorLines(output: string): string {
  const lines = output.split('\n').filter((line) => line.trim() !== '');
  const telling = lines.filter((line) => /FATAL|PANIC|HINT|could not|error:/.test(line));
  return (telling.length > 0 ? telling : lines.slice(-2)).join(' | ').slice(0, outputCharsMax);
}
