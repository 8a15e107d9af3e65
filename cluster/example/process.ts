// One process of the example cluster: the counters over a real Redis and PostgreSQL. The first argument holds the
// settings as JSON. It prints a line when it is ready, answers its peers' calls and adds to a shared counter every
// second; SIGTERM drains it.
import pg from 'pg';
import { clusterConfig } from '../config.js';
import { GroupCommit } from '../fencing/group-commit.js';
import { PostgresFenceStore } from '../fencing/postgres/fence-store.js';
import { openClusteredNode } from '../node/clustered-node.js';
import { systemRandom, systemTime } from '../time/system.js';
import { durableCounter, volatileCounter } from './counter.js';
import { counterSchema, postgresCounterTables } from './postgres-counter.js';

interface ExampleSettings {
  readonly redisUrl: string;
  readonly databaseUrl: string;
  readonly databaseRole: string;
  readonly cluster: string;
  readonly secret: string;
  readonly port: number;
}

const fencedExitCode = 3;
const settings: ExampleSettings = JSON.parse(process.argv[2] ?? '{}');
const config = clusterConfig();
const print = (text: string): boolean => process.stdout.write(`${process.pid} ${text}\n`);

await prepare(settings);
const database = {
  databaseUrl: settings.databaseUrl,
  role: settings.databaseRole,
  statementTimeoutMs: config.statementTimeoutMs,
  connectTimeoutMs: config.connectTimeoutMs,
  time: systemTime,
};
const fence = new PostgresFenceStore(postgresCounterTables, database);
const counter = durableCounter(new GroupCommit(fence, config, systemTime, systemRandom), systemTime);
const { node, stop } = await openClusteredNode({
  ...settings,
  kinds: [counter, volatileCounter(systemTime)],
  host: '127.0.0.1',
  roles: ['edge', 'worker'],
  onFenced: () => {
    print('lost its lease; exiting');
    process.exit(fencedExitCode);
  },
});
const self = node.describe().members.find(({ process: id }) => id === node.process);
print(`ready: ${node.process} at ${self?.address ?? 'an unknown address'}`);
node.onRing(({ view }) => print(`view ${view.number}: ${view.members.length} members`));
const ticking = setTickingCounter();
// Ctrl-C signals the whole process group, and then the parent sends its own signal: the second must not abort the
// drain.
let isLeaving = false;
for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.on(signal, () => {
    if (!isLeaving) void leave();
    isLeaving = true;
  });
}

/** Each process adds to one shared counter every second and prints the result. */
function setTickingCounter(): { cancel(): void } {
  let timer = systemTime.after(1_000, () => void tick());
  async function tick(): Promise<void> {
    const shared = node.actor(counter, '00000000-0000-0000-0000-000000000001', 'shared');
    await shared.add({ amount: 1 }, { requestId: systemRandom.id(), deadlineMs: 5_000 }).then(
      ({ sum }) => print(`the shared counter is ${sum}`),
      (error: unknown) => print(`the shared counter failed: ${String(error)}`),
    );
    timer = systemTime.after(1_000, () => void tick());
  }
  return { cancel: () => timer.cancel() };
}

async function leave(): Promise<void> {
  ticking.cancel();
  const { cutOff } = await stop();
  await fence.close();
  print(`stopped, ${cutOff} turns aborted`);
  process.exit(0);
}

async function prepare({ databaseUrl, databaseRole }: ExampleSettings): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  // Several processes run this at once.
  await client.query('select pg_advisory_lock(7_105_001)');
  await client.query(counterSchema);
  await client.query(
    `grant select, insert, update on example_counters, example_additions to ${client.escapeIdentifier(databaseRole)}`,
  );
  await client.end();
}
