import test, { type ExecutionContext } from 'ava';
import pg from 'pg';
import { clusterConfig } from '../../../../cluster/config.js';
import { GroupCommit } from '../../../../cluster/fencing/group-commit.js';
import { groupId } from '../../../../cluster/fencing/postgres/actor-key.js';
import { PostgresNumbers } from '../../../../cluster/fencing/postgres/view-numbers.js';
import type { Fence } from '../../../../cluster/fencing/fence.js';
import { revision, viewNumber, type ActorAddress } from '../../../../cluster/ids/ids.js';
import {
  activated,
  activation,
  adding,
  counterAddress,
  fenceStoreContract,
  type SumStore,
} from '../../../contracts/fence-store.js';
import { systemRandom, systemTime } from '../../../../cluster/time/system.js';
import { databaseOfFile } from '../../../support/database/database.js';
import { eventually } from '../../../support/clocks/eventually.js';
import { waitersFor } from '../../../support/database/lock-waiters.js';
import { TcpProxy } from '../../../support/servers/tcp-proxy.js';
import { createSumTables, openSumStore } from '../../../support/database/sum-tables.js';

const database = databaseOfFile(test);
/** The tests of this file open a hundred connections at once. */
const connectTimeoutMs = 30_000;
test.serial.before('the tables that the fence guards', () => createSumTables(database.url));

/** A statement that hangs is told from one that a busy machine has made late. */
const patient = { statementTimeoutMs: 60_000 };

function open(t: ExecutionContext, options = {}): SumStore {
  const store = openSumStore(database.url, options);
  t.teardown(() => store.close());
  return store;
}

async function connected(t: ExecutionContext, role = 'troupe_writer'): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: database.url, options: `-c role=${role}` });
  await client.connect();
  t.teardown(() => client.end());
  return client;
}

fenceStoreContract(test, 'PostgreSQL', (t) =>
  Promise.resolve({ one: open(t, patient), other: open(t, patient) }),
);

fenceStoreContract(test, 'PostgreSQL, claim and write in one statement', (t) => {
  const [one, other] = [
    openSumStore(database.url, { inOne: true, ...patient }),
    openSumStore(database.url, { inOne: true, ...patient }),
  ];
  t.teardown(() => Promise.all([one.close(), other.close()]));
  return Promise.resolve({ one, other });
});

/** The answer to COMMIT, as PostgreSQL gives it if the transaction had failed. */
function rolledBack(answer: Buffer): Buffer {
  const [commit, rollback] = ['C\0\0\0\x0bCOMMIT\0', 'C\0\0\0\x0dROLLBACK\0'];
  return Buffer.from(answer.toString('latin1').replaceAll(commit, rollback), 'latin1');
}

/** The number of statements on actor connections that are waiting for a lock. */
async function waiting(client: pg.Client, address: ActorAddress): Promise<number> {
  const answer = await client.query<{ count: string }>(
    `select count(*) from pg_stat_activity where datname = current_database() and application_name = 'troupe actors'
      and wait_event_type = 'Lock' and $1 <> ''`,
    [address.key],
  );
  return Number(answer.rows[0]?.count);
}

/** Something under way, and whether it is over. */
function underWay<Result>(result: Promise<Result>): { readonly result: Promise<Result>; isOver: boolean } {
  const state = { result, isOver: false };
  const end = (): void => void (state.isOver = true);
  result.then(end, end);
  return state;
}

// A write waits for a lock for half a second: tests that do something meanwhile run one by one.

test.serial(
  'an activation waits for the commit of the older owner and loads what it committed',
  async (t) => {
    const store = open(t);
    const address = counterAddress();
    await activated(store, address, 'old');
    const owner = await connected(t);
    const watcher = await connected(t, 'none');
    // The older owner's transaction: the row is locked under its fence, but the step is not committed yet.
    await owner.query('begin');
    const locked = await owner.query(
      'select 1 from actors where tenant_id = $1 and kind = $2 and key = $3 for no key update',
      [groupId(address.group), address.kind, address.key],
    );
    t.is(locked.rowCount, 1);
    await owner.query('insert into sums (counter, sum) values ($1, 41)', [address.key]);
    const activating = activated(store, address, 'new');
    await eventually(async () => (await waiting(watcher, address)) > 0, { what: 'the activation waits' });
    await owner.query('commit');
    t.is((await activating).loaded, 41);
  },
);

test.serial('an epoch cannot be raised between the fence check of a write and its commit', async (t) => {
  const [one, other] = [open(t), open(t)];
  const address = counterAddress();
  let { fence } = await activated(one, address, 'old');
  const blocker = await connected(t);
  const watcher = await connected(t, 'none');
  await one.write([adding(fence, 1)]);
  fence = { ...fence, revision: revision(fence.revision + 1) };
  const once = async () => {
    // The write has checked the fence and now waits for the row that it changes.
    await blocker.query('begin');
    await blocker.query('select 1 from sums where counter = $1 for update', [address.key]);
    const writing = underWay(one.write([adding(fence, 2)]));
    const waits = (count: number) => async (): Promise<boolean> =>
      writing.isOver || (await waiting(watcher, address)) === count;
    await eventually(waits(1), { what: 'the write waits' });
    const activating = underWay(activated(other, address, `after-${fence.epoch}`));
    await eventually(waits(2), { what: 'the activation waits too' });
    const isEarly = activating.isOver;
    await blocker.query('commit');
    const outcome = (await writing.result)[0]?.outcome;
    const next = await activating.result;
    ({ fence } = next);
    // On a busy machine the write may have waited too long before the activation did: once more.
    return outcome !== 'held_up' && { outcome, isEarly, loaded: next.loaded };
  };
  t.deepEqual(await eventually(once, { what: 'a write that is not held up' }), {
    outcome: 'written',
    isEarly: false,
    loaded: 2,
  });
});

test.serial('a batch that waits for a row whose epoch is raised meanwhile does not write it', async (t) => {
  const store = open(t);
  const owner = await connected(t);
  const once = async () => {
    const [kept, taken] = [counterAddress(), counterAddress()];
    const { fence } = await activated(store, kept, 'a');
    const { fence: old } = await activated(store, taken, 'a');
    await owner.query('begin');
    await owner.query(
      `update actors set epoch = epoch + 1, activation_id = 'new'
        where tenant_id = $1 and kind = $2 and key = $3`,
      [groupId(taken.group), taken.kind, taken.key],
    );
    const writing = underWay(store.write([adding(fence, 1), adding(old, 2)]));
    await eventually(async () => writing.isOver || (await waitersFor(owner)).length > 0, {
      what: 'the batch waits for the row',
    });
    await owner.query('commit');
    const outcomes = (await writing.result).map(({ outcome }) => outcome);
    // On a busy machine the write may have waited too long before the row was free: once more.
    return !outcomes.includes('held_up') && outcomes;
  };
  t.deepEqual(await eventually(once, { what: 'a batch that is not held up' }), ['written', 'fenced']);
});

test('a commit that the server did not confirm as one has an unknown outcome', async (t) => {
  const proxy = await TcpProxy.before(database.url);
  t.teardown(() => proxy.close());
  const store = openSumStore(proxy.url);
  t.teardown(() => store.close());
  const stale = (fence: Fence): Fence => ({ ...fence, revision: revision(fence.revision + 3) });
  // Of two writes one is fenced: the batch is checked row by row.
  for (const isChecked of [false, true]) {
    const [{ fence }, { fence: other }] = [
      await activated(store, counterAddress(), 'a'),
      await activated(store, counterAddress(), 'a'),
    ];
    const batch = isChecked ? [adding(fence, 5), adding(stale(other), 6)] : [adding(fence, 5)];
    proxy.alterAnswer = rolledBack;
    await t.throwsAsync(store.write(batch), { message: /outcome_unknown.*COMMIT was not confirmed/ });
    proxy.alterAnswer = (answer) => answer;
    const [again] = await store.write(batch);
    t.deepEqual(again, { outcome: 'written', result: undefined }, 'it was committed all the same');
  }
});

test.serial(
  'a connection lost during a batch leaves the outcome unknown, and a repeat settles it',
  async (t) => {
    const store = open(t);
    const address = counterAddress();
    const { fence } = await activated(store, address, 'a');
    const blocker = await connected(t);
    const watcher = await connected(t, 'none');
    const { rows } = await blocker.query<{ pid: number }>('select pg_backend_pid() as pid');
    const batch = [adding(fence, 5, 'lost')];
    const lost = async () => {
      await blocker.query('begin');
      await blocker.query('insert into additions (id, counter, sum) values ($1, $2, 0)', [
        `${address.key} lost`,
        address.key,
      ]);
      const writing = underWay(
        store.write(batch).then(
          ([answer]) => answer?.outcome,
          (error: unknown) => String(error),
        ),
      );
      const isEnded = async (): Promise<boolean> => {
        const ended = await watcher.query(
          `select pg_terminate_backend(pid) from pg_locks
            where not granted and $1 = any (pg_blocking_pids(pid))`,
          [rows[0]?.pid],
        );
        return writing.isOver || ended.rows.length > 0;
      };
      await eventually(isEnded, { everyMs: 5, what: 'the write waits' });
      const outcome = await writing.result;
      await blocker.query('rollback');
      // On a busy machine the write may have waited too long before its connection was ended: once more.
      return outcome !== 'held_up' && outcome;
    };
    t.regex((await eventually(lost, { what: 'a write that is not held up' })) ?? '', /outcome_unknown/);
    t.deepEqual(await store.write(batch), [{ outcome: 'written', result: 5 }]);
    t.deepEqual(await store.write(batch), [{ outcome: 'written', result: undefined }]);
  },
);

test('batches with the same actors in opposite orders do not deadlock', async (t) => {
  const [one, other] = [open(t), open(t)];
  const addresses = Array.from({ length: 40 }, () => counterAddress());
  for (let round = 0; round < 10; round += 1) {
    const owned = await Promise.all(addresses.map((address) => activated(one, address, `r${round}`)));
    const batch = owned.map(({ fence }) => adding(fence, round));
    const answers = await Promise.all([one.write(batch), other.write(batch.toReversed())]);
    t.deepEqual(new Set(answers.flat().map(({ outcome }) => outcome)), new Set(['written']));
  }
});

test('a stamp is compared with the clock of PostgreSQL when the row lock becomes free', async (t) => {
  const store = open(t);
  const address = counterAddress();
  await activated(store, address, 'old');
  const owner = await connected(t);
  await owner.query('begin');
  const stampedFor = (milliseconds: number) =>
    owner.query(
      `update actors set busy_process = 'p1', busy_until = clock_timestamp() + $3 * interval '1 millisecond'
        where kind = $1 and key = $2`,
      [address.kind, address.key, milliseconds],
    );
  t.is((await stampedFor(60_000)).rowCount, 1);
  const activating = store.activate(activation(address, 'new'));
  await eventually(async () => (await waitersFor(owner)).length > 0, { what: 'the activation waits' });
  // From here on: whoever compared with the time at which it began to wait would find the actor busy.
  await stampedFor(200);
  await owner.query('select pg_sleep(0.25)');
  await owner.query('commit');
  t.is((await activating).outcome, 'activated', 'the stamp expired while the activation waited for the row');
});

test('an unreachable database fails with store_unavailable', async (t) => {
  const store = openSumStore('postgresql://127.0.0.1:1/none');
  t.teardown(() => store.close());
  await t.throwsAsync(() => activated(store, counterAddress(), 'a'), { message: /store_unavailable/ });
});

test('view numbers are unique, exceed the given number, and keep the last seized number', async (t) => {
  const options = {
    databaseUrl: database.url,
    role: 'troupe_writer',
    statementTimeoutMs: 5_000,
    connectTimeoutMs,
    time: systemTime,
  };
  const numbers = [
    new PostgresNumbers({ ...options, cluster: 'n' }),
    new PostgresNumbers({ ...options, cluster: 'n' }),
  ];
  t.teardown(() => Promise.all(numbers.map((one) => one.close())));
  const [one, other] = numbers;
  if (one === undefined || other === undefined) throw new Error('two clients');
  t.is(Number(await one.seized()), 0);
  t.is(Number(await one.next(viewNumber(0))), 1);
  const given = await Promise.all(
    Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? one : other).next(viewNumber(1))),
  );
  t.is(new Set(given).size, 20);
  t.is(Number(await other.seize(viewNumber(100))), 101);
  t.is(Number(await one.seized()), 101);
  t.is(Number(await one.next(viewNumber(5))), 102);
  t.is(Number(await one.seized()), 101);
});

test.serial('a row that another transaction locks delays its own actor alone', async (t) => {
  const store = open(t, patient);
  const group = new GroupCommit(store, clusterConfig(patient), systemTime, systemRandom);
  const actors = await Promise.all(
    Array.from({ length: 11 }, async (_, index) => {
      const address = counterAddress();
      const { fence } = await activated(store, address, `a${index}`);
      return { address, holder: group.holder(fence) };
    }),
  );
  const [locked, ...neighbours] = actors;
  if (locked === undefined) throw new Error('no actor');
  const blocker = await connected(t);
  await blocker.query('begin');
  await blocker.query('select 1 from actors where tenant_id = $1 and kind = $2 and key = $3 for update', [
    groupId(locked.address.group),
    locked.address.kind,
    locked.address.key,
  ]);
  const write = ({ address, holder }: typeof locked) =>
    holder.write({ id: `${address.key} held`, counter: address.key, sum: 1 }, undefined);
  const startedMs = performance.now();
  let isWritten = false;
  const held = write(locked).finally(() => (isWritten = true));
  const others = await Promise.all(neighbours.map(write));
  t.true(performance.now() - startedMs < 50_000, 'before they would give up');
  t.true(others.every(({ outcome }) => outcome === 'committed'));
  t.false(isWritten);
  // Others go on meanwhile.
  const again = neighbours.map(({ address, holder }) =>
    holder.write({ id: `${address.key} again`, counter: address.key, sum: 2 }, undefined),
  );
  t.true((await Promise.all(again)).every(({ outcome }) => outcome === 'committed'));
  t.false(isWritten);
  await blocker.query('rollback');
  t.is((await held).outcome, 'committed');
  t.true(actors.every(({ holder }) => !holder.lost));
});

test('the newest generation is the last one named for the first time', async (t) => {
  const open = (cluster: string): PostgresNumbers =>
    new PostgresNumbers({
      databaseUrl: database.url,
      role: 'troupe_writer',
      statementTimeoutMs: 5_000,
      connectTimeoutMs,
      time: systemTime,
      cluster,
    });
  const [one, other, stranger] = [open('g'), open('g'), open('another')];
  t.teardown(() => Promise.all([one, other, stranger].map((numbers) => numbers.close())));
  const newest = async (numbers: PostgresNumbers): Promise<string | undefined> =>
    (await numbers.newestGeneration(undefined))?.generation;
  t.is(await newest(one), undefined);
  t.is((await one.nameGeneration('old'))?.generation, 'old');
  t.is((await other.nameGeneration('new'))?.generation, 'new');
  t.is(await newest(one), 'new');
  t.is((await one.nameGeneration('old'))?.generation, 'new', 'it was named before');
  t.is(await newest(stranger), undefined);
  const marks = Array.from({ length: 10 }, (_, index) => `mark ${index}`);
  await Promise.all(marks.map((mark, index) => (index % 2 === 0 ? one : other).nameGeneration(mark)));
  const last = await newest(one);
  t.true(marks.includes(last ?? ''));
  t.is(await newest(other), last);
  const isUnused = async (): Promise<boolean> => ((await one.newestGeneration('old'))?.unusedMs ?? 0) > 1_200;
  await eventually(isUnused, { timeoutMs: 20_000, what: 'the newest generation is unused for a while' });
  const usedAtMs = performance.now();
  await other.newestGeneration(last);
  const { unusedMs } = (await one.newestGeneration(undefined)) ?? { unusedMs: Number.NaN };
  const sinceMs = performance.now() - usedAtMs;
  t.true(unusedMs <= sinceMs + 50, `unused for ${unusedMs} ms, used ${sinceMs} ms ago`);
});
