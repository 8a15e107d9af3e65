// Claims of a process that is gone, against a real PostgreSQL: another process has them at once, and what the first one
// writes afterwards, if it was only frozen, counts for nothing.
import { randomUUID } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { systemRandom, systemTime } from '../../../../cluster/index.js';
import { acceptTarget, type AcceptedRow } from '../../../../src/automation/inbox/accept-target.js';
import {
  claimLeftBehind,
  releaseOwnClaims,
  endIfHeld,
  markDone,
  messageClaims,
  renewClaims,
  reschedule,
} from '../../../../src/automation/inbox/inbox.store.js';
import {
  deliveryClaims,
  dueSessions,
  insertDelivery,
} from '../../../../src/automation/outbox/deliveries.store.js';
import { queueTarget } from '../../../../src/automation/outbox/delivery-queue-target.js';
import { type ClaimedTable, VoidClaims } from '../../../../src/infra/claims/index.js';
import { claimMails, insertMail, mailClaims } from '../../../../src/infra/mail/mails.store.js';
import { openBatchWriters, openStore, type Store } from '../../../../src/infra/storage/index.js';
import { tenantScope, type TenantScope } from '../../../../src/kernel/tenant-scope.js';
import { insertTenant } from '../../../support/builders/callers.js';
import { eventually } from '../../../support/clocks/eventually.js';
import { databaseOfFile } from '../../../support/database/database.js';

const database = databaseOfFile(test);
/** Longer than all tests of this file take: a claim of one that lapsed would be found by another. */
const holdMs = 600_000;

interface Process {
  readonly name: string;
  readonly store: Store;
  readonly writers: ReturnType<typeof openBatchWriters>;
}

async function processOf(t: ExecutionContext, name: string): Promise<Process> {
  const store = await openStore({ databaseUrl: database.url, process: name });
  const writers = openBatchWriters({
    databaseUrl: database.url,
    process: name,
    time: systemTime,
    random: systemRandom,
  });
  t.teardown(async () => {
    await writers.close();
    await store.close();
  });
  return { name, store, writers };
}

/** Two processes, and what the second one knows of the first. */
async function two(t: ExecutionContext): Promise<{ first: Process; second: Process; gone: Set<string> }> {
  const first = await processOf(t, `member-first-${randomUUID()}`);
  const second = await processOf(t, `member-second-${randomUUID()}`);
  return { first, second, gone: new Set() };
}

/**
 * Watches one table for the second process. `ticks` counts how often it compares the processes, `sweeps` how often it asks
 * for a sweep.
 */
function watching(
  t: ExecutionContext,
  { first, second, gone }: Awaited<ReturnType<typeof two>>,
  table: ClaimedTable,
): { readonly sweeps: () => number; readonly ticks: () => number } {
  let sweeps = 0;
  let ticks = 0;
  const claims = new VoidClaims({
    store: second.store,
    holders: {
      members: () => {
        ticks += 1;
        return [first.name];
      },
      isGone: (process) => gone.has(process),
    },
    time: systemTime,
    report: (_, error) => t.fail(String(error)),
  });
  claims.add({ table, sweepNow: () => (sweeps += 1) });
  claims.start();
  t.teardown(() => claims.stop());
  return { sweeps: () => sweeps, ticks: () => ticks };
}

function message(scope: TenantScope): AcceptedRow {
  return {
    tenant_id: scope.tenantId,
    trigger_id: randomUUID(),
    key: `key:${randomUUID()}`,
    session_id: randomUUID(),
    execution_id: randomUUID(),
    state: 'running',
    asks: false,
    payload_hash: '',
    sealed: Buffer.from('work'),
    answer: null,
    hold_ms: holdMs,
    keep_ms: 3_600_000,
  };
}

test.serial(
  'a message of a process that is gone is claimed at once, and the frozen process can no longer end it',
  async (t) => {
    const both = await two(t);
    const { first, second, gone } = both;
    const scope = await insertTenant(first.store);
    const row = message(scope);
    await first.writers.writer(acceptTarget).write(row);
    const watched = watching(t, both, messageClaims);
    const claimed = () => second.store.directory((tx) => claimLeftBehind(tx, holdMs, 100));
    await eventually(() => watched.ticks() >= 3, { what: 'the second process compares three times' });
    t.deepEqual(await claimed(), [], 'a living process keeps its message');
    t.is(watched.sweeps(), 0);

    gone.add(first.name);
    await eventually(() => watched.sweeps() > 0, { what: 'the second process sweeps' });
    const named = await second.store.directory((tx) => messageClaims.holders(tx));
    t.false(named.includes(first.name), 'a claim that has ended names nobody');
    const [taken] = await claimed();
    t.like(taken, { key: row.key, attempts: 2 });
    t.deepEqual(await claimed(), [], 'one process has it');

    await first.store.inTenant(scope, (tx) => reschedule(scope, tx, row, 0));
    t.deepEqual(await claimed(), [], 'the first process cannot give it back');
    t.false(await first.store.inTenant(scope, (tx) => endIfHeld(scope, tx, row)));
    t.true(await second.store.inTenant(scope, (tx) => endIfHeld(scope, tx, row)));
  },
);

test.serial('a message that a leaving process gives back counts no lost process', async (t) => {
  const { first, second } = await two(t);
  const scope = await insertTenant(first.store);
  const row = message(scope);
  await first.writers.writer(acceptTarget).write(row);
  await second.store.directory((tx) => releaseOwnClaims(tx));
  t.deepEqual(await second.store.directory((tx) => claimLeftBehind(tx, holdMs, 100)), []);
  await first.store.directory((tx) => releaseOwnClaims(tx));
  const [taken] = await second.store.directory((tx) => claimLeftBehind(tx, holdMs, 100));
  t.like(taken, { key: row.key, attempts: 1 });
});

test.serial('of processes that look at once each message goes to one', async (t) => {
  const { first, second } = await two(t);
  const scope = await insertTenant(first.store);
  // One claims while the other has looked already and takes no row yet: that lasts for a moment, so it is tried often.
  for (let round = 0; round < 60; round += 1) {
    const rows = Array.from({ length: 8 }, () => ({ ...message(scope), hold_ms: 0 }));
    await Promise.all(rows.map((row) => first.writers.writer(acceptTarget).write(row)));
    const claimed = await Promise.all(
      [first, second, first, second].map(({ store }) =>
        store.directory((tx) => claimLeftBehind(tx, holdMs, 100)),
      ),
    );
    const keys = claimed.flat().map(({ key }) => key);
    t.deepEqual(keys.toSorted(), rows.map(({ key }) => key).toSorted(), `round ${round}`);
  }
});

test.serial('a process extends only its own claims', async (t) => {
  const { first, second } = await two(t);
  const scope = await insertTenant(first.store);
  const execution = randomUUID();
  const row = { ...message(scope), execution_id: execution, hold_ms: 0 };
  await first.writers.writer(acceptTarget).write(row);
  await second.store.directory((tx) => renewClaims(tx, [execution], holdMs));
  const [taken] = await second.store.directory((tx) => claimLeftBehind(tx, 0, 100));
  t.like(taken, { key: row.key }, 'it was due all the same');
  await second.store.directory((tx) => renewClaims(tx, [execution], holdMs));
  t.deepEqual(await first.store.directory((tx) => claimLeftBehind(tx, holdMs, 100)), []);
  t.true(await second.store.inTenant(scope, (tx) => endIfHeld(scope, tx, row)));
});

test.serial('a message is done once, whoever ends it', async (t) => {
  const { first } = await two(t);
  const scope = await insertTenant(first.store);
  const row = message(scope);
  await first.writers.writer(acceptTarget).write(row);
  await first.store.inTenant(scope, (tx) => markDone(scope, tx, row, undefined));
  t.false(await first.store.inTenant(scope, (tx) => endIfHeld(scope, tx, row)));
});

test.serial('a claim that commits after the end of its process was noticed is ended as well', async (t) => {
  const both = await two(t);
  const { first, second, gone } = both;
  const scope = await insertTenant(first.store);
  gone.add(first.name);
  const watched = watching(t, both, messageClaims);
  await eventually(() => watched.sweeps() > 0, { what: 'the second process sweeps' });
  await first.writers.writer(acceptTarget).write(message(scope));
  const taken = await eventually(
    async () => (await second.store.directory((tx) => claimLeftBehind(tx, holdMs, 100)))[0],
    { what: 'the late message is claimed' },
  );
  t.is(taken.tenant_id, scope.tenantId);
});

test.serial(
  'an answer that a process was sending when it went is due at once, and its end no longer counts',
  async (t) => {
    const both = await two(t);
    const { first, second, gone } = both;
    const scope = tenantScope((await insertTenant(first.store)).tenantId);
    const [id, sessionId] = [randomUUID(), randomUUID()];
    const delivery = {
      id,
      sessionId,
      triggerId: randomUUID(),
      executionId: null,
      key: id,
      inboxSeq: 0,
      chunkTotal: 1,
      truncated: false,
      sealed: Buffer.from('content'),
    };
    await first.store.inTenant(scope, (tx) => insertDelivery(scope, tx, delivery));
    const look = { tenant_id: scope.tenantId, session_id: sessionId, ended: undefined, continues: true };
    const lines = { first: lineOf(first), second: lineOf(second) };
    const sending = (await lines.first.write({ ...look, claim: randomUUID() })).first;
    t.is(sending?.id, id);
    const others = await lines.second.write({ ...look, claim: randomUUID() });
    t.is(others.first, undefined);
    t.true((others.dueInMs ?? 0) > holdMs / 2);

    const watched = watching(t, both, deliveryClaims);
    gone.add(first.name);
    await eventually(() => watched.sweeps() > 0, { what: 'the second process sweeps' });
    const due = await second.store.directory((tx) => dueSessions(tx, 0, 100));
    t.true(due.some(({ session_id }) => session_id === sessionId));
    const taken = (await lines.second.write({ ...look, claim: randomUUID() })).first;
    t.like(taken, { id, attempts: 2 });
    if (sending === undefined) return;
    const late = await lines.first.write({
      ...look,
      claim: randomUUID(),
      continues: false,
      ended: {
        delivery: sending,
        next: { step: 'over', status: 'delivery_failed' },
        end: { statusCode: 500, error: 'late' },
      },
    });
    t.is(late.ageMs, undefined, 'another process has taken it over');
  },
);

function lineOf({ writers }: Process) {
  return writers.writer(queueTarget({ holdMs }));
}

test.serial('a mail that a process was sending when it went is due at once', async (t) => {
  const both = await two(t);
  const { first, second, gone } = both;
  const { tenantId } = await insertTenant(first.store);
  // The second one is about an account, which belongs to no tenant.
  for (const owner of [tenantId, null]) {
    await first.store.directory((tx) =>
      insertMail(tx, {
        tenantId: owner,
        id: randomUUID(),
        messageId: `<${owner ?? 'none'}@example.com>`,
        recipient: 'one@example.com',
        sealedContent: Buffer.from('content'),
      }),
    );
  }
  t.is((await first.store.directory((tx) => claimMails(tx, holdMs, 10))).length, 2);
  const claim = () => second.store.directory((tx) => claimMails(tx, holdMs, 10));
  t.is((await claim()).length, 0);
  const watched = watching(t, both, mailClaims);
  gone.add(first.name);
  await eventually(() => watched.sweeps() > 0, { what: 'the second process sweeps' });
  t.is((await claim()).length, 2);
});
