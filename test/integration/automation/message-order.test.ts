// In which order the messages of a session reach it, from one node and from several. The store is real.
import { randomBytes, randomUUID } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import type pg from 'pg';
import { systemTime } from '../../../cluster/index.js';
import { acceptTarget } from '../../../src/automation/inbox/accept-target.js';
import { InboxRunner } from '../../../src/automation/inbox/inbox-runner.js';
import { messageRows } from '../../../src/automation/inbox/message-rows.js';
import { MessageSealer } from '../../../src/automation/messages/message-payload.js';
import type { TurnOrder, TurnOutcome } from '../../../src/automation/triggers/ports.js';
import { systemPlatform } from '../../../src/infra/platform/index.js';
import { createSealer } from '../../../src/infra/sealing/index.js';
import { type BatchWriters, openStore, type Store } from '../../../src/infra/storage/index.js';
import { PlatformError } from '../../../src/kernel/errors.js';
import { type TenantScope, tenantScope } from '../../../src/kernel/tenant-scope.js';
import { liveTrigger } from '../../support/builders/live-trigger.js';
import { insertTakenOver } from '../../support/builders/message-process.js';
import { eventually } from '../../support/clocks/eventually.js';
import { databaseOfFile } from '../../support/database/database.js';
import { openPatientWriters } from '../../support/database/patient-writers.js';
import { ownerView } from '../../support/database/owner-view.js';

const database = databaseOfFile(test);
const seal = new MessageSealer(createSealer({ masterKey: randomBytes(32), random: systemPlatform.random }));
const holdMs = 60_000;
interface Process {
  readonly store: Store;
  readonly writers: BatchWriters;
}
const processes: Process[] = [];
let owner: pg.Client;

test.serial.before(async () => {
  const { url: databaseUrl } = database;
  owner = await ownerView(databaseUrl);
  for (const process of [`member-${randomUUID()}`, `member-${randomUUID()}`]) {
    const writers = openPatientWriters(databaseUrl, process);
    processes.push({ store: await openStore({ databaseUrl, process }), writers });
  }
  database.atEnd(async () => {
    await owner.end();
    for (const { store, writers } of processes) {
      await writers.close();
      await store.close();
    }
  });
});

/** A session of a tenant, and two processes that take messages to it. It has a turn once `take` has ended. */
async function session(
  t: ExecutionContext,
  take: (message: string, node: number) => Promise<void> = async () => undefined,
) {
  const scope: TenantScope = tenantScope(randomUUID());
  const [triggerId, sessionId] = [randomUUID(), randomUUID()];
  await insertTakenOver(owner, scope.tenantId, sessionId);
  const live = liveTrigger(scope, triggerId);
  const taken: string[] = [];
  const looks = [0, 0];
  const runTurn = async (order: TurnOrder, node: number): Promise<TurnOutcome> => {
    await take(order.message, node);
    taken.push(order.message);
    await owner.query(
      `insert into executions (tenant_id, id, session_id, agent_id, slot, arrival, channel, status, due_at, input, created_at)
        values ($1, $2, $3, $1, 0, 0, 'webhook', 'running', now() + interval '1 hour', '{}', now())`,
      [scope.tenantId, order.executionId, sessionId],
    );
    order.onTaken?.();
    return new Promise(() => undefined);
  };
  const nodes = processes.map(({ store, writers }, node) => {
    const rows = messageRows(store);
    const runner = new InboxRunner({
      rows: {
        ...rows,
        ownMessage: async (...given) => {
          const own = await rows.ownMessage(...given);
          if (own?.is_behind === true) looks[node] = (looks[node] ?? 0) + 1;
          return own;
        },
      },
      live: { get: async () => live },
      senderBlocks: { isRefused: async () => false },
      turns: {
        runTurn: (order) => runTurn(order, node),
        outcomeOf: async () => undefined,
        isKnown: async () => false,
      },
      sender: { finish: () => Promise.reject(new Error('no turn ends')), announce: () => undefined },
      seal,
      plainTexts: (_, text) => text,
      ids: systemPlatform.ids,
      time: {
        ...systemTime,
        after: (ms, action) => systemTime.after(Math.min(ms, 20), action),
      },
      scopeOf: tenantScope,
      report: (attempted, error) => t.fail(`${attempted}: ${String(error)}`),
    });
    t.teardown(() => runner.stop());
    /** Accepted and acknowledged by this node. */
    const accept = async (message: string) => {
      const executionId = randomUUID();
      const work = { message, context: {}, requestId: 'r' };
      const { seq, isBehind } = await writers.writer(acceptTarget).write({
        tenant_id: scope.tenantId,
        trigger_id: triggerId,
        key: message,
        session_id: sessionId,
        execution_id: executionId,
        state: 'running',
        asks: false,
        payload_hash: '',
        sealed: seal.seal(scope, work),
        answer: null,
        hold_ms: holdMs,
        keep_ms: holdMs,
      });
      const row = { trigger_id: triggerId, key: message, seq, isBehind };
      return { scope, triggerId, sessionId, executionId, work, row, attempts: 1, ageMs: 0 };
    };
    const say = async (message: string): Promise<void> => runner.begin(await accept(message));
    return { runner, accept, say, sweep: () => runner.claims.sweepNow() };
  });
  /** No process holds them, or has one of them in mind. */
  const leave = (message: string, dueAgoMs: number) =>
    owner.query(
      `update trigger_inbox set claimed_by = null, due_at = clock_timestamp() - $3 * interval '1 millisecond'
        where tenant_id = $1 and key = $2`,
      [scope.tenantId, message, dueAgoMs],
    );
  const isFree = async (message: string): Promise<boolean> => {
    const { rows } = await owner.query<{ free: boolean }>(
      'select claimed_by is null as free from trigger_inbox where tenant_id = $1 and key = $2',
      [scope.tenantId, message],
    );
    return rows[0]?.free === true;
  };
  const [here, there] = nodes;
  if (here === undefined || there === undefined) throw new Error('two processes are open');
  return { here, there, taken, looks, leave, isFree };
}

test.serial('a message that its session refuses for now runs before those accepted after it', async (t) => {
  let isFull = true;
  const { here, taken, looks, leave, isFree } = await session(t, async (message) => {
    if (message === 'first' && isFull) throw new PlatformError('rate_limit_exceeded');
  });
  await here.say('first');
  await eventually(() => isFree('first'), { what: 'the first is put off' });
  await here.say('second');
  await here.say('third');
  await eventually(() => (looks[0] ?? 0) > 1, { what: 'the second looks for it, and again' });
  t.deepEqual(taken, []);
  isFull = false;
  await leave('first', 0);
  here.sweep();
  await eventually(() => taken.length === 3, { what: 'the session has all' });
  t.deepEqual(taken, ['first', 'second', 'third']);
});

test.serial(
  'a message waits for an older one of its session that is on its way from another node',
  async (t) => {
    let arrive = (): void => undefined;
    const arrival = new Promise<void>((resolve) => (arrive = resolve));
    const { here, there, taken, looks } = await session(t, (message) =>
      message === 'first' ? arrival : Promise.resolve(),
    );
    await here.say('first');
    await there.say('second');
    await here.say('third');
    await eventually(() => (looks[1] ?? 0) > 1, { what: 'the second looks for it, and again' });
    t.deepEqual(taken, []);
    arrive();
    await eventually(() => taken.length === 3, { what: 'the session has all' });
    t.deepEqual(taken, ['first', 'second', 'third']);
  },
);

test.serial('what was left behind runs in the order of acceptance, whenever it fell due', async (t) => {
  const { here, there, taken, leave } = await session(t);
  const all = Array.from({ length: 30 }, (_, nth) => `message ${nth}`);
  for (const message of all) await here.accept(message);
  for (const [nth, message] of all.entries()) await leave(message, 1_000 * ((nth * 7) % 30));
  there.sweep();
  await eventually(() => taken.length === all.length, { what: 'the session has all' });
  t.deepEqual(taken, all);
});

test.serial('a message whose older ones have reached their session, or ended, runs at once', async (t) => {
  const { here, there, taken, looks } = await session(t);
  await here.say('first');
  await eventually(() => taken.length === 1, { what: 'the session has the first' });
  await there.say('second');
  await eventually(() => taken.length === 2, { what: 'the session has the second' });
  await owner.query(`update trigger_inbox set state = 'done' where key in ('first', 'second')`);
  await here.say('third');
  await eventually(() => taken.length === 3, { what: 'the session has the third' });
  t.deepEqual(looks, [0, 0]);
});
