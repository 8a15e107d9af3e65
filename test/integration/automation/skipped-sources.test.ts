// Sources that are due and cannot be polled, on the real store: they hold back no other source.
import { randomUUID } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { Mailboxes, type MailboxesParts } from '../../../src/automation/mail/mailboxes.js';
import { DatabaseEvents, type DatabaseEventsParts } from '../../../src/automation/sources/database-events.js';
import { Schedules, type SchedulesParts } from '../../../src/automation/sources/schedules.js';
import { SourcePoller } from '../../../src/automation/sources/source-poller.js';
import { Sources } from '../../../src/automation/sources/sources.js';
import { dueSources } from '../../../src/automation/sources/sources.store.js';
import { parseTriggerConfig } from '../../../src/automation/triggers/config/trigger-config.js';
import type { TriggerType } from '../../../src/automation/triggers/types/registry.js';
import { systemPlatform } from '../../../src/infra/platform/index.js';
import { createSealer } from '../../../src/infra/sealing/index.js';
import { MessageSealer } from '../../../src/automation/messages/message-payload.js';
import { openStore, type Store } from '../../../src/infra/storage/index.js';
import { type TenantScope, tenantScope } from '../../../src/kernel/tenant-scope.js';
import { insertTenant } from '../../support/builders/callers.js';
import { eventually } from '../../support/clocks/eventually.js';
import { ManualTime } from '../../support/clocks/manual-time.js';
import { databaseOfFile } from '../../support/database/database.js';
import { ownerView } from '../../support/database/owner-view.js';

const database = databaseOfFile(test);
const sourcesMax = 200;
const lateMs = 3_000;
let store: Store;
let owner: Awaited<ReturnType<typeof ownerView>>;

test.serial.before(async () => {
  store = await openStore({ databaseUrl: database.url });
  owner = await ownerView(database.url);
  database.atEnd(async () => {
    await owner.end();
    await store.close();
  });
  await owner.query('alter table trigger_sources drop constraint trigger_sources_tenant_id_trigger_id_fkey');
});

test.serial.beforeEach(() => owner.query('delete from trigger_sources'));

/** Sources of one tenant that are due since a time ago. */
async function insertSources(
  { tenantId }: TenantScope,
  kind: TriggerType,
  { count = 1, since = '0 seconds' } = {},
): Promise<string> {
  const { rows } = await owner.query<{ trigger_id: string }>(
    `insert into trigger_sources (tenant_id, trigger_id, kind, state, due_at)
      select $1, gen_random_uuid(), $2, '{"at": 1}', now() - $3::interval from generate_series(1, $4)
      returning trigger_id`,
    [tenantId, kind, since, count],
  );
  return rows[0]?.trigger_id ?? '';
}

async function dueIds(kind: TriggerType = 'db_event', late = lateMs): Promise<readonly string[]> {
  const due = await store.directory((tx) => dueSources(tx, { kind, lateMs: late, rowsMax: sourcesMax }));
  return due.map(({ trigger_id }) => trigger_id);
}

const configs = {
  /** As a node saved it that knows more time zones. */
  newer: parseTriggerConfig('schedule', { cron: '* * * * *', timezone: 'Mars/Olympus', message: 'tick' }),
  schedule: parseTriggerConfig('schedule', { cron: '* * * * *', message: 'tick' }),
  db_event: parseTriggerConfig('db_event', {
    database_config_id: randomUUID(),
    table: 'visits',
    cursor_column: 'at',
    message_template: '{{ id }}',
  }),
  email: parseTriggerConfig('email', {
    imap: { host: 'mail.example', user: 'agent', secret_ref: 'mailbox' },
  }),
};

/** A node's poller, for the triggers of one tenant. It reaches no table and no mailbox, and counts its attempts. */
function startPoller(t: ExecutionContext, kind: keyof typeof configs) {
  const node = { isKnown: true, suspended: false, isFull: false };
  /** Ends the attempts to connect to a database that does not answer, if this one does not. */
  let refuse = (): void => undefined;
  const answer = { isMissing: false, refuse: () => refuse() };
  let attempts = 0;
  /** Triggers whose polls wait until the test ends, as for a server that says nothing. */
  const silent = new Set<string>();
  let end: () => void = () => undefined;
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const live: unknown = {
    get: async (id: string) => {
      if (silent.has(id)) await ended;
      return node.isKnown
        ? { enabled: true, suspended: node.suspended, revision: 1, parsed: configs[kind] }
        : undefined;
    },
  };
  const events: Partial<DatabaseEventsParts> = {
    store,
    live: live as DatabaseEventsParts['live'],
    databases: {
      connect: async () => {
        attempts += 1;
        if (answer.isMissing) await new Promise<void>((resolve) => (refuse = resolve));
        throw new Error('no route to the database');
      },
    },
    isFull: () => node.isFull,
  };
  const mailboxes: Partial<MailboxesParts> = { store, live: live as MailboxesParts['live'] };
  const schedules: Partial<SchedulesParts> = {
    store,
    live: live as SchedulesParts['live'],
    seal: new MessageSealer(createSealer({ masterKey: Buffer.alloc(32, 1), random: systemPlatform.random })),
    ids: systemPlatform.ids,
    measures: { fired: () => undefined },
  };
  const time = new ManualTime('2026-05-01T00:00:00Z');
  const poller = new SourcePoller({
    store,
    runner: { begin: () => undefined },
    sources: new Sources([
      new DatabaseEvents(events as DatabaseEventsParts),
      new Mailboxes(mailboxes as MailboxesParts),
      new Schedules(schedules as SchedulesParts),
    ]),
    measures: { accepted: () => undefined },
    time,
    scopeOf: tenantScope,
    report: () => undefined,
  });
  t.teardown(() => {
    end();
    return poller.stop(async () => answer.refuse());
  });
  return { node, answer, silent, time, poller, attempts: () => attempts };
}

async function sourceOf(triggerId: string) {
  const { rows } = await owner.query<{
    dueInMs: number;
    state: object;
    failures: number;
    error: string | null;
  }>(
    `select extract(epoch from due_at - now())::float8 * 1000 as "dueInMs", state, failures, last_error as error from trigger_sources
      where trigger_id = $1`,
    [triggerId],
  );
  const [row] = rows;
  if (row === undefined) throw new Error(`There is no source of ${triggerId}.`);
  return row;
}

const ends = {
  suspended: 'update tenants set suspended_at = now() where id = $1',
  deleting: `update tenants set deleting_at = now(), deleted_by = 'somebody' where id = $1`,
};

for (const [end, statement] of Object.entries(ends)) {
  test.serial(`the sources of a ${end} tenant do not hide the schedule of another one`, async (t) => {
    const [idle, busy] = [await insertTenant(store), await insertTenant(store)];
    await owner.query(statement, [idle.tenantId]);
    await insertSources(idle, 'schedule', { count: sourcesMax, since: '1 hour' });
    const schedule = await insertSources(busy, 'schedule');
    const due = await dueIds('schedule', 0);
    t.is(due.length, sourcesMax);
    t.true(due.includes(schedule));
  });
}

test.serial('of each tenant the source that is due for longest comes first', async (t) => {
  const [one, other] = [await insertTenant(store), await insertTenant(store)];
  const [newer, older] = [
    await insertSources(one, 'db_event', { since: '1 hour' }),
    await insertSources(one, 'db_event', { since: '2 hours' }),
  ];
  const ofOther = await insertSources(other, 'db_event', { since: '1 minute' });
  await insertSources(other, 'db_event', { since: '1 second' });
  t.deepEqual(await dueIds(), [older, ofOther, newer]);
});

for (const kind of ['db_event', 'email'] as const) {
  test.serial(`a ${kind} source of a suspended tenant is looked at again later`, async (t) => {
    const scope = await insertTenant(store);
    const triggerId = await insertSources(scope, kind, { since: '1 hour' });
    const { node, poller } = startPoller(t, kind);
    node.suspended = true;
    poller.poll(scope, triggerId, kind);
    await eventually(async () => (await sourceOf(triggerId)).dueInMs > 0, { what: 'the source is put off' });
    const { dueInMs, state, failures } = await sourceOf(triggerId);
    t.true(dueInMs > 10_000 && dueInMs <= 30_000, `${dueInMs}`);
    t.deepEqual({ state, failures }, { state: { at: 1 }, failures: 0 });
  });
}

for (const kind of ['db_event', 'email', 'schedule'] as const) {
  test.serial(`a ${kind} source of a tenant that is being deleted is looked at again later`, async (t) => {
    const scope = await insertTenant(store);
    const triggerId = await insertSources(scope, kind, { since: '1 hour' });
    const { node, poller } = startPoller(t, kind);
    node.isKnown = false;
    poller.poll(scope, triggerId, kind);
    await eventually(async () => (await sourceOf(triggerId)).dueInMs > 0, { what: 'the source is put off' });
    t.deepEqual((await sourceOf(triggerId)).state, { at: 1 });
  });
}

test.serial('a source that was put off is polled once it is due and its tenant is resumed', async (t) => {
  const scope = await insertTenant(store);
  const triggerId = await insertSources(scope, 'db_event', { since: '1 hour' });
  const { node, poller, attempts } = startPoller(t, 'db_event');
  node.suspended = true;
  poller.poll(scope, triggerId, 'db_event');
  await eventually(async () => (await sourceOf(triggerId)).dueInMs > 0, { what: 'the source is put off' });
  node.suspended = false;
  await owner.query(`update trigger_sources set due_at = due_at - interval '34 seconds'`);
  t.deepEqual(await dueIds(), [triggerId]);
  poller.poll(scope, triggerId, 'db_event');
  await eventually(async () => (await sourceOf(triggerId)).failures === 1, { what: 'the source is polled' });
  t.is(attempts(), 1);
});

test.serial('a node without room leaves a source to the others, behind their other sources', async (t) => {
  const scope = await insertTenant(store);
  const triggerId = await insertSources(scope, 'db_event', { since: '1 hour' });
  const other = await insertSources(scope, 'db_event', { since: '1 minute' });
  t.deepEqual(await dueIds(), [triggerId, other]);
  const { node, poller, attempts } = startPoller(t, 'db_event');
  node.isFull = true;
  poller.poll(scope, triggerId, 'db_event');
  await eventually(async () => (await dueIds())[0] === other, { what: 'the other source comes first' });
  t.deepEqual(await dueIds(), [other, triggerId]);
  t.deepEqual((await sourceOf(triggerId)).state, { at: 1 });
  t.is(attempts(), 0);
});

test.serial('a schedule fires while the mailboxes of two other tenants wait for their servers', async (t) => {
  const { silent, time, poller } = startPoller(t, 'schedule');
  for (const scope of [await insertTenant(store), await insertTenant(store)]) {
    for (let count = 0; count < 500; count += 1) {
      const triggerId = randomUUID();
      silent.add(triggerId);
      poller.poll(scope, triggerId, 'email');
    }
  }
  const triggerId = await insertSources(await insertTenant(store), 'schedule', { since: '1 second' });
  await owner.query(`update trigger_sources set state = '{"handled_ms": 0}' where trigger_id = $1`, [
    triggerId,
  ]);
  poller.start();
  time.advance(500);
  await eventually(async () => (await sourceOf(triggerId)).dueInMs > 0, { what: 'the schedule has fired' });
  t.is((await sourceOf(triggerId)).failures, 0);
});

test.serial('a schedule that this node cannot read stays due for another one, and says why', async (t) => {
  const scope = await insertTenant(store);
  const triggerId = await insertSources(scope, 'schedule');
  await owner.query(`update trigger_sources set state = '{"handled_ms": 0}'`);
  const { poller } = startPoller(t, 'newer');
  poller.poll(scope, triggerId, 'schedule');
  await eventually(async () => (await sourceOf(triggerId)).dueInMs > 0, { what: 'the source is put off' });
  const { dueInMs, state, failures, error } = await sourceOf(triggerId);
  t.true(dueInMs <= 2_000, `${dueInMs}`);
  t.deepEqual({ state, failures }, { state: { handled_ms: 0 }, failures: 1 });
  t.regex(error ?? '', /^The schedule cannot be read: timezone must be a name/);
});

test.serial(
  'a poll that waits for a database is broken off at the end of the node, as no failure',
  async (t) => {
    const scope = await insertTenant(store);
    const { poller, answer, attempts } = startPoller(t, 'db_event');
    answer.isMissing = true;
    const triggerId = await insertSources(scope, 'db_event');
    poller.poll(scope, triggerId, 'db_event');
    await eventually(() => attempts() === 1, { what: 'an attempt to connect' });
    t.true((await sourceOf(triggerId)).dueInMs > 0, 'it is held');
    await poller.stop(async () => answer.refuse());
    const { dueInMs, failures, error } = await sourceOf(triggerId);
    t.deepEqual({ failures, error }, { failures: 0, error: null });
    t.true(dueInMs <= -lateMs, 'another node may poll it at once');
  },
);
