// Polls of a tenant's table, with both databases real: the found rows and the connection.
import { randomUUID } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { systemPlatform } from '../../../src/infra/platform/index.js';
import { systemTime, type Time } from '../../../cluster/index.js';

import { createSealer } from '../../../src/infra/sealing/index.js';
import { databaseEventConfig } from '../../../src/automation/triggers/types/database-event.js';
import { MessageSealer } from '../../../src/automation/messages/message-payload.js';
import { DatabaseEvents, type DatabaseEventsParts } from '../../../src/automation/sources/database-events.js';
import { databaseOfFile } from '../../support/database/database.js';
import { type DatabasesBench, startDatabases, startShop } from '../../support/servers/databases.js';
import { eventually } from '../../support/clocks/eventually.js';
import { ownerView } from '../../support/database/owner-view.js';

const database = databaseOfFile(test);
let bench: DatabasesBench;

test.serial.before(async () => {
  bench = await startDatabases(database);
  const owner = await ownerView(database.url);
  await owner.query('alter table trigger_sources drop constraint trigger_sources_tenant_id_trigger_id_fkey');
  await owner.end();
});

/** A shop with a table, and a trigger for its rows, polled by `nodes` nodes whose pauses are shorter by `hurry`. */
async function startLooking(
  t: ExecutionContext,
  table: string,
  { nodes = 1, hurry = 1, ...given }: Given = {},
) {
  const shop = await startShop(t);
  await shop.client.query(table);
  const scope = await bench.newTenant();
  const person = bench.person(scope, 'owner');
  const made = await person.call('POST', '/api/database-configs', {
    name: 'shop',
    connection_config: shop.place,
  });
  const configId = String(made.body.data.id);
  const config = databaseEventConfig.parse({
    database_config_id: configId,
    table: 'visits',
    cursor_column: 'at',
    message_template: '{{ id }}',
    ...given,
  });
  const triggerId = randomUUID();
  /** What the nodes know. */
  const node = { isFull: false, config, revision: 1 };
  const live: unknown = {
    get: () => ({
      id: triggerId,
      agentId: randomUUID(),
      enabled: true,
      revision: node.revision,
      parsed: { type: 'db_event', config: node.config },
    }),
  };
  const time: Time = {
    ...systemTime,
    after: (delayMs, action) => systemTime.after(delayMs / hurry, action),
  };
  const found: string[] = [];
  /** The polls that were asked for early. */
  const early: Promise<void>[] = [];
  const lookEarly = async (before: Promise<void> | undefined): Promise<void> => {
    await before;
    const looked = await lookers[0]?.poll(scope, triggerId, true);
    found.push(...(looked?.items ?? []).map(({ work }) => work.message));
  };
  const parts: Partial<DatabaseEventsParts> = {
    store: bench.store,
    live: live as DatabaseEventsParts['live'],
    seal: new MessageSealer(createSealer({ masterKey: Buffer.alloc(32, 1), random: systemPlatform.random })),
    databases: bench.databases,
    ids: systemPlatform.ids,
    time,
    isFull: () => node.isFull,
    wake: () => void early.push(lookEarly(early.at(-1))),
  };
  const lookers = Array.from({ length: nodes }, () => new DatabaseEvents(parts as DatabaseEventsParts));
  t.teardown(async () => void (await Promise.all(lookers.map((one) => one.stop()))));
  const owner = await ownerView(database.url);
  t.teardown(() => owner.end());
  const connections = async (): Promise<number | undefined> => {
    const { rows } = await shop.client.query<{ n: number }>(
      "select count(*)::int as n from pg_stat_activity where datname = current_database() and application_name = 'troupe'",
    );
    return rows[0]?.n;
  };
  const beginning = await lookers[0]?.beginning(scope, config);
  // Its connection is closed, and the server may still list it.
  await eventually(async () => (await connections()) === 0);
  await owner.query(
    "insert into trigger_sources (tenant_id, trigger_id, kind, state, due_at) values ($1, $2, 'db_event', $3, now())",
    [scope.tenantId, triggerId, beginning],
  );
  const look = async (node = 0): Promise<boolean> => {
    await owner.query('update trigger_sources set due_at = now() where trigger_id = $1', [triggerId]);
    const looked = await lookers[node]?.poll(scope, triggerId, false);
    found.push(...(looked?.items ?? []).map(({ work }) => work.message));
    return looked?.againInMs !== undefined && looked.againInMs < config.poll_ms;
  };
  return {
    shop,
    node,
    scope,
    person,
    configId,
    found,
    early,
    look,
    /** Until a poll has reached the end of the table. */
    lookToTheEnd: async () => {
      for (let looks = 1; looks <= 30; looks += 1) if (!(await look())) return looks;
      return t.fail('looking comes to no end');
    },
    /** The effects of a change of the trigger in its transaction; no node knows it yet. */
    change: async (revision: number, changed: Readonly<Record<string, unknown>>) => {
      const [looker] = lookers;
      const wanted = databaseEventConfig.parse({ ...config, ...changed });
      const beginning = await looker?.beginning(scope, wanted, node.config);
      await bench.store.inTenant(scope, async (tx) =>
        looker?.arm(tx, wanted, {
          row: { id: triggerId, enabled: true, revision },
          now: new Date(),
          beginning,
        }),
      );
      return wanted;
    },
    /** The failed executions of the trigger: what its owner sees. */
    faults: async () => {
      const { rows } = await owner.query<{ code: string; message: string }>(
        `select error ->> 'code' as code, error ->> 'message' as message from executions
        where trigger_id = $1 and status = 'failed' order by created_at`,
        [triggerId],
      );
      return rows;
    },
    /** Lets more than a day pass: the records of the rows expire. */
    passDay: async () => {
      await owner.query('delete from trigger_inbox where trigger_id = $1', [triggerId]);
      await owner.query(
        `update trigger_sources set state = state || jsonb_build_object('swept_ms', (state ->> 'swept_ms')::float8 - $2::float8,
          'swept_from_ms', (state ->> 'swept_from_ms')::float8 - $2::float8,
          'marks', (select jsonb_agg(jsonb_build_object('at', (m ->> 'at')::float8 - $2::float8, 'cursor', m -> 'cursor'))
            from jsonb_array_elements(state -> 'marks') m))
        where trigger_id = $1`,
        [triggerId, 25 * 3_600_000],
      );
    },
    sweepSoon: () =>
      owner.query(
        `update trigger_sources set state = state || jsonb_build_object('swept_ms', (state ->> 'swept_ms')::float8 - 15000)
        where trigger_id = $1`,
        [triggerId],
      ),
    lookUndue: (node: number) => lookers[node]?.poll(scope, triggerId, false),
    connections,
  };
}

type Given = { readonly nodes?: number; readonly hurry?: number } & Readonly<Record<string, unknown>>;

const visits = 'create table visits (id int primary key, at timestamptz not null, note text)';

test.serial('more rows than one poll reads are all found once, although they share one cursor', async (t) => {
  const { shop, found, look, lookToTheEnd } = await startLooking(t, visits);
  await shop.client.query("insert into visits select n, '2026-05-01' from generate_series(1, 1300) n");
  await lookToTheEnd();
  t.is(found.length, 1_300);
  t.is(new Set(found).size, 1_300);
  await shop.client.query("insert into visits values (1301, '2026-05-01'), (1302, '2026-05-02')");
  await lookToTheEnd();
  await look();
  t.deepEqual(found.slice(1_300), ['1301', '1302']);
});

test.serial('a sweep longer than one poll continues where it stopped, and finds late rows', async (t) => {
  const { shop, found, lookToTheEnd } = await startLooking(t, visits);
  await shop.client.query(
    "insert into visits select n, timestamptz '2026-05-01' + n * interval '1 s' from generate_series(1, 1100) n",
  );
  await lookToTheEnd();
  t.is(found.length, 1_100);
  await shop.client.query("insert into visits values (0, '2026-05-01 00:00:30')");
  const owner = await ownerView(database.url);
  await owner.query("update trigger_sources set state = state - 'swept_ms'");
  await owner.end();
  t.true(((await lookToTheEnd()) ?? 0) > 1);
  t.deepEqual(found.slice(1_100), ['0']);
});

test.serial('rows that are too large together are read in smaller numbers', async (t) => {
  const { shop, found, lookToTheEnd } = await startLooking(t, visits);
  await shop.client.query(
    "insert into visits select n, timestamptz '2026-05-01' + n * interval '1 s', repeat('x', 20000) from generate_series(1, 300) n",
  );
  await lookToTheEnd();
  t.is(new Set(found).size, 300);
});

const large = (id: number, mebibytes: number): string =>
  `insert into visits values (${id}, timestamptz '2026-05-01' + ${id} * interval '1 s', repeat('x', ${Math.floor(mebibytes * 1_048_576)}))`;

test.serial('large rows hold up no row behind them', async (t) => {
  const { shop, found, faults, lookToTheEnd } = await startLooking(t, visits);
  for (const [id, mebibytes] of [
    [1, 0],
    [2, 2.2],
    [3, 2.2],
    [4, 5],
    [5, 0],
    [6, 5],
  ] as const)
    await shop.client.query(large(id, mebibytes));
  await lookToTheEnd();
  t.deepEqual(found, ['1', '2', '3', '4', '5', '6']);
  t.deepEqual(await faults(), []);
});

test.serial('a large row runs once, and is not read again while its table is quiet', async (t) => {
  const { shop, found, look, lookToTheEnd, passDay, sweepSoon } = await startLooking(t, visits);
  await shop.client.query(large(1, 5));
  await lookToTheEnd();
  await passDay();
  await look();
  const { rows } = await shop.client.query<{ pid: number }>(
    "select pid from pg_stat_activity where datname = current_database() and application_name = 'troupe'",
  );
  await look();
  const { rows: later } = await shop.client.query<{ pid: number }>(
    "select pid from pg_stat_activity where datname = current_database() and application_name = 'troupe'",
  );
  t.deepEqual(later, rows, 'no answer was too large, which costs the connection');
  await shop.client.query(large(2, 0));
  await look();
  // The next poll sweeps, from the cursor that the second row has left.
  await sweepSoon();
  await lookToTheEnd();
  t.deepEqual(found, ['1', '2']);
});

test.serial('a large value that the message names is cut like any other', async (t) => {
  const { shop, found, lookToTheEnd } = await startLooking(t, visits, {
    message_template: '{{ id }} {{ note }}',
  });
  await shop.client.query(large(1, 5));
  await lookToTheEnd();
  t.true(found[0]?.startsWith('1 xxx'));
  t.is(found[0]?.length, 1 + ' '.length + 199_999);
});

test.serial('a row that cannot be read is a failed execution, and the next one runs', async (t) => {
  const names = Array.from({ length: 25 }, (_, n) => `c${n}`);
  const { shop, found, faults, look, lookToTheEnd } = await startLooking(
    t,
    `create table visits (id int primary key, at timestamptz not null, ${names.map((name) => `${name} text`).join(', ')})`,
    { message_template: `{{ id }} ${names.map((name) => `{{ ${name} }}`).join('')}` },
  );
  const long = names.map(() => "repeat('x', 200000)").join(', ');
  await shop.client.query(`insert into visits values (1, '2026-05-01', ${long})`);
  await shop.client.query("insert into visits values (2, '2026-05-02')");
  await lookToTheEnd();
  t.deepEqual(found, ['2 ']);
  await look();
  const [fault, another] = await faults();
  t.is(another, undefined);
  t.is(fault?.code, 'unreadable_row');
  t.regex(fault?.message ?? '', /"id":"1".* of visits is too large/);
});

test.serial('without a primary key, large rows are read by their cursor', async (t) => {
  const { shop, found, faults, lookToTheEnd } = await startLooking(t, visits.replace(' primary key', ''));
  for (let id = 1; id <= 12; id += 1) await shop.client.query(large(id, 0.9));
  await lookToTheEnd();
  t.deepEqual(
    found,
    Array.from({ length: 12 }, (_, n) => `${n + 1}`),
  );
  t.deepEqual(await faults(), []);
});

test.serial(
  'rows without a key that cannot be read are reported, and passed over once others follow',
  async (t) => {
    const { shop, found, faults, lookToTheEnd } = await startLooking(t, visits.replace(' primary key', ''));
    await shop.client.query(large(1, 0));
    await shop.client.query(large(2, 5));
    const error = await t.throwsAsync(lookToTheEnd);
    t.regex(
      error?.message ?? '',
      /share one value of at are too large .*2026-05-01 00:00:02.* no primary key/,
    );
    t.deepEqual(await faults(), []);
    await shop.client.query(large(3, 0));
    await lookToTheEnd();
    t.deepEqual(found, ['1', '3']);
    const [fault, another] = await faults();
    t.is(another, undefined);
    t.is(fault?.code, 'unreadable_row');
    t.regex(fault?.message ?? '', /2026-05-01 00:00:02/);
  },
);

test.serial("a row's message is bounded like any other", async (t) => {
  const { shop, found, lookToTheEnd } = await startLooking(t, visits, {
    message_template: '{{ note }}'.repeat(1_000),
  });
  await shop.client.query("insert into visits values (1, '2026-05-01', repeat('x', 1000000))");
  await lookToTheEnd();
  t.deepEqual(
    found.map(({ length }) => length),
    [200_000],
  );
});

test.serial(
  'very many rows without a key that share one cursor are reported, not read for ever',
  async (t) => {
    const { shop, look } = await startLooking(t, 'create table visits (id int, at timestamptz not null)');
    await shop.client.query("insert into visits select n, '2026-05-01' from generate_series(1, 10001) n");
    await look();
    const error = await t.throwsAsync(async () => {
      for (let looks = 0; looks < 30; looks += 1) await look();
    });
    t.regex(error?.message ?? '', /More than 10000 rows share one value of at/);
  },
);

test.serial(
  'a narrowed or deleted configuration is read no more, and its connection is closed',
  async (t) => {
    const { shop, found, look, person, configId, connections } = await startLooking(t, visits);
    await look();
    t.is(await connections(), 1);
    const path = `/api/database-configs/${configId}`;
    await person.call('PATCH', path, { settings: { allowed_tables: ['public.orders'] } });
    await shop.client.query("insert into visits values (1, '2026-05-01')");
    await t.throwsAsync(async () => look(), { message: /does not allow this table/ });
    await person.call('PATCH', path, { settings: null });
    await look();
    t.deepEqual(found, ['1']);
    await person.call('DELETE', path);
    await t.throwsAsync(async () => look(), { message: /was not found/ });
    await eventually(async () => (await connections()) === 0);
  },
);

test.serial('a node that lost the table to another keeps no connection to it', async (t) => {
  const { look, lookUndue, connections } = await startLooking(t, visits, { nodes: 2 });
  await look(0);
  await look(1);
  t.is(await connections(), 2);
  await lookUndue(0);
  await eventually(async () => (await connections()) === 1);
});

test.serial('a listening connection that ends is replaced, so that notifications arrive again', async (t) => {
  const { shop, found, early, look, connections } = await startLooking(t, visits, {
    channel: 'visits',
    poll_ms: 3_600_000,
    hurry: 20,
  });
  const end = async (which: string) => {
    const ended = await shop.client.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and ${which}`,
    );
    return ended.rowCount;
  };
  const insert = (id: number) =>
    shop.client.query(`insert into visits values (${id}, '2026-05-01'); notify visits`);
  await look();
  t.is(await connections(), 2);
  await insert(1);
  await eventually(() => found.length === 1, { what: 'the notified row' });
  for (const [id, which, ends] of [
    [2, 'query = \'listen "visits"\'', 1],
    [3, "application_name = 'troupe'", 2],
  ] as const) {
    const polls = early.length;
    t.is(await end(which), ends);
    await eventually(() => early.length > polls, { what: 'a poll after the connection ended' });
    await Promise.all(early);
    t.is(early.length, polls + 1, 'one poll for one end');
    await insert(id);
    await eventually(() => found.length === id, { what: 'the row notified after the connection ended' });
    await Promise.all(early);
    await eventually(async () => (await connections()) === 2, { what: 'no connection left behind' });
  }
  t.deepEqual(found, ['1', '2', '3']);
});

for (const [quiet, sinceLook] of [
  ['a day', '1 day'],
  ['ten minutes', '15 seconds'],
] as const) {
  test.serial(
    `rows of a table that was quiet for ${quiet} do not run again after their records expired`,
    async (t) => {
      const { shop, scope, found, look, lookToTheEnd } = await startLooking(t, visits);
      await shop.client.query(
        "insert into visits values (1, '2026-05-01'), (2, '2026-05-02'), (3, '2026-05-02')",
      );
      await lookToTheEnd();
      t.is(found.length, 3);
      const owner = await ownerView(database.url);
      t.teardown(() => owner.end());
      const day = 86_400_000;
      const since = sinceLook === '1 day' ? day : 15_000;
      await owner.query('delete from trigger_inbox');
      await owner.query(
        `update trigger_sources set state = state || jsonb_build_object(
        'swept_ms', (state ->> 'swept_ms')::float8 - $1::float8,
        'swept_from_ms', (state ->> 'swept_from_ms')::float8 - $1::float8,
        'marks', (select jsonb_agg(jsonb_build_object('at', (m ->> 'at')::float8 - $2::float8, 'cursor', m -> 'cursor'))
          from jsonb_array_elements(state -> 'marks') m))
        where tenant_id = $3`,
        [since, day, scope.tenantId],
      );
      for (let looks = 0; looks < 3; looks += 1) await look();
      t.is(found.length, 3);
      await shop.client.query("insert into visits values (4, '2026-05-02')");
      await look();
      t.deepEqual(found.slice(3), ['4']);
      // The next sweep begins at the cursor that this row leaves.
      await owner.query('delete from trigger_inbox');
      await shop.client.query("insert into visits values (5, '2026-05-03')");
      await look();
      await owner.query(
        `update trigger_sources set state = state || jsonb_build_object('swept_ms', (state ->> 'swept_ms')::float8 - 15000)
        where tenant_id = $1`,
        [scope.tenantId],
      );
      await look();
      t.deepEqual(found.slice(3), ['4', '5']);
    },
  );
}

test.serial('a node at its limit leaves rows in their table, and takes them later', async (t) => {
  const { shop, node, found, look } = await startLooking(t, visits);
  await shop.client.query("insert into visits values (1, '2026-05-01')");
  node.isFull = true;
  await look();
  t.deepEqual(found, []);
  node.isFull = false;
  await look();
  t.deepEqual(found, ['1']);
});

test.serial('a node that does not know the new table yet leaves it to one that does', async (t) => {
  const { shop, node, found, look, change } = await startLooking(t, visits);
  await shop.client.query('create table calls (id int primary key, at timestamptz not null)');
  await look();
  const changed = await change(2, { table: 'calls' });
  await shop.client.query("insert into calls values (1, '2026-05-01')");
  await look();
  Object.assign(node, { config: changed, revision: 2 });
  await look();
  t.deepEqual(found, ['1']);
  // A change that keeps the table keeps the position.
  await change(3, { table: 'calls', message_template: 'call {{ id }}' });
  await shop.client.query("insert into calls values (2, '2026-05-02')");
  await look();
  t.deepEqual(found, ['1']);
  node.revision = 3;
  await look();
  t.deepEqual(found, ['1', '2']);
});
