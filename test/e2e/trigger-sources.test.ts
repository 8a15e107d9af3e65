import test from 'ava';
import { startShop } from '../support/servers/databases.js';
import { eventually } from '../support/clocks/eventually.js';
import { operatorToken } from '../support/servers/node.js';
import { sharedNode } from '../support/servers/shared-node.js';
import { ownerView } from '../support/database/owner-view.js';
import { asOwner, createTrigger, executionsOf, sendSigned } from '../support/builders/triggers.js';

const shared = sharedNode(test);

test('a schedule fires at its times, once each, until it is disabled', async (t) => {
  const node = await shared.tenant(t);
  const trigger = await createTrigger(
    node,
    { cron: '* * * * * *', message: 'tick', context: { place: 'here' } },
    'schedule',
  );
  const detail = await asOwner(node, 'GET', `/api/triggers/${trigger.id}`);
  t.is(detail.json.data.next_runs.length, 3);
  await eventually(
    async () =>
      (await executionsOf(node, trigger)).filter(({ status }) => status === 'completed').length >= 3,
    { everyMs: 200 },
  );
  const executions = await executionsOf(node, trigger);
  t.true(executions.every(({ input_preview }) => input_preview === 'tick'));
  await asOwner(node, 'POST', `/api/triggers/${trigger.id}/disable`);
  const afterwards = (await executionsOf(node, trigger)).length;
  const other = await createTrigger(node, { cron: '* * * * * *', message: 'tock' }, 'schedule');
  await eventually(async () => (await executionsOf(node, other)).length >= 2, { everyMs: 200 });
  t.true((await executionsOf(node, trigger)).length <= afterwards + 1, 'at most what was under way');
});

test("schedule runs count as the tenant's model work and wait while the limit is reached", async (t) => {
  const node = await shared.tenant(t);
  const plan = { plan: 'enterprise', settings: { requests_per_minute: 2 } };
  const tenant = `/api/tenants/${node.bootstrap.tenant_id}`;
  await node.client.call('PATCH', `${tenant}/plan`, { token: operatorToken, body: plan });
  const schedule = await createTrigger(
    node,
    { cron: '* * * * * *', message: 'tick', allow_overlap: true },
    'schedule',
  );
  const statuses = async () => (await executionsOf(node, schedule)).map(({ status }) => String(status));
  const completed = async () => (await statuses()).filter((status) => status === 'completed').length;
  await eventually(async () => (await statuses()).length >= 4 && (await completed()) >= 2, {
    everyMs: 200,
  });
  t.is(await completed(), 2);
  t.false((await statuses()).includes('failed'));
  const webhook = await createTrigger(node, {});
  const refused = await sendSigned(node, webhook, { message: 'hi' });
  t.like(refused, { status: 429, json: { error: 'rate_limit_exceeded', details: { limit: 2 } } });
});

test('a trigger of any type can shorten the time of a turn', async (t) => {
  const node = await shared.tenant(t);
  const { agent_id: agent } = node.bootstrap;
  await asOwner(node, 'PATCH', `/api/agents/${agent}`, { llm_config: { model: 'sim.lorem-2-8000' } });
  await asOwner(node, 'POST', `/api/agents/${agent}/publish`, {});
  const never = { cron: '0 0 29 2 *', message: 'tick' };
  for (const times of [{ timeout_ms: 1_000 }, { timeout_ms: 60_000, execution: { timeout_ms: 1_000 } }]) {
    const trigger = await createTrigger(node, { ...never, ...times }, 'schedule');
    const answer = await asOwner(node, 'POST', `/api/triggers/${trigger.id}/invoke`, {});
    t.is(answer.status, 200, answer.text);
    t.like((await executionsOf(node, trigger))[0], { status: 'timeout', outcome: 'TIMEOUT' });
  }
});

test('an invalid cron line or zone, or one without a firing, is refused by field', async (t) => {
  const node = await shared.tenant(t);
  const refusedField = async (trigger_config: Record<string, unknown>) => {
    const { status, json } = await asOwner(node, 'POST', '/api/triggers', {
      agent_id: node.bootstrap.agent_id,
      name: 'x',
      trigger_type: 'schedule',
      trigger_config: { message: 'x', ...trigger_config },
    });
    t.is(status, 400);
    return json.details.field;
  };
  t.is(await refusedField({ cron: 'every day' }), 'trigger_config.cron');
  t.is(await refusedField({ cron: '0 0 30 2 *' }), 'trigger_config.cron');
  t.is(await refusedField({ cron: '0 9 * * *', timezone: 'Mars/Olympus' }), 'trigger_config.timezone');
});

test('new rows of a table start conversations, once each, and existing rows do not', async (t) => {
  const { place, client } = await startShop(t);
  const node = await shared.tenant(t);
  await client.query(
    'create table visits (id bigint primary key, guest text, kind text, left_at timestamptz)',
  );
  await client.query("insert into visits values (1, 'old', 'vip')");
  const made = await asOwner(node, 'POST', '/api/database-configs', {
    name: 'shop',
    provider: 'postgresql',
    connection_config: place,
  });
  const config = {
    database_config_id: made.json.data.id,
    table: 'public.visits',
    cursor_column: 'id',
    filter: { kind: 'vip', left_at: null },
    poll_ms: 100,
    channel: 'visits',
    message_template: 'Guest {{ guest }} ({{ id }})',
  };
  const trigger = await createTrigger(node, config, 'db_event');
  await client.query(
    `insert into visits values (2, 'Ada', 'vip', null), (3, 'Eve', 'other', null), (5, 'Bob', 'vip', null),
      (6, 'Gone', 'vip', now())`,
  );
  const seen = async () =>
    (await executionsOf(node, trigger))
      .map(({ input_preview }) => String(input_preview))
      .toSorted((one, other) => one.localeCompare(other));
  await eventually(async () => (await seen()).length >= 2, { everyMs: 200 });
  t.deepEqual(await seen(), ['Guest Ada (2)', 'Guest Bob (5)']);
  // Committed late, below the cursor: found by a poll of the rows behind it.
  await client.query("insert into visits values (4, 'Late', 'vip')");
  await eventually(async () => (await seen()).includes('Guest Late (4)'), {
    what: 'the row that came late',
    everyMs: 300,
  });
  t.is((await seen()).length, 3);
});

test('a notification only triggers a poll of the table', async (t) => {
  const { place, client } = await startShop(t);
  const node = await shared.tenant(t);
  await client.query('create table visits (id bigint primary key)');
  const made = await asOwner(node, 'POST', '/api/database-configs', {
    name: 'shop',
    provider: 'postgresql',
    connection_config: place,
  });
  const config = {
    database_config_id: made.json.data.id,
    table: 'public.visits',
    cursor_column: 'id',
    poll_ms: 3_600_000,
    channel: 'visits',
    message_template: 'Guest {{ id }}',
  };
  const trigger = await createTrigger(node, config, 'db_event');
  const owner = await ownerView(node.databaseUrl);
  t.teardown(() => owner.end());
  await eventually(async () => {
    const looked =
      "select from trigger_sources where tenant_id = $1 and due_at > now() + interval '50 minutes'";
    return (await owner.query(looked, [node.bootstrap.tenant_id])).rowCount === 1;
  });
  const notify = () => client.query("select pg_notify('visits', 'Guest 0')");
  for (let times = 0; times < 5; times += 1) await notify();
  await client.query('insert into visits values (1)');
  await eventually(
    async () => {
      // Heard once the node listens.
      await notify();
      return (await executionsOf(node, trigger)).length > 0;
    },
    { everyMs: 200 },
  );
  await notify();
  t.deepEqual(
    (await executionsOf(node, trigger)).map(({ input_preview }) => input_preview),
    ['Guest 1'],
  );
});

test('an unknown table or column is refused by field', async (t) => {
  const { place } = await startShop(t);
  const node = await shared.tenant(t);
  const made = await asOwner(node, 'POST', '/api/database-configs', {
    name: 'shop',
    provider: 'postgresql',
    connection_config: place,
  });
  const refusedField = async (trigger_config: Record<string, unknown>) => {
    const { status, json } = await asOwner(node, 'POST', '/api/triggers', {
      agent_id: node.bootstrap.agent_id,
      name: 'x',
      trigger_type: 'db_event',
      trigger_config: {
        database_config_id: made.json.data.id,
        cursor_column: 'id',
        message_template: 'x',
        ...trigger_config,
      },
    });
    t.is(status, 400);
    return json.details.field;
  };
  t.is(await refusedField({ table: 'public.nothing' }), 'trigger_config.table');
  t.is(await refusedField({ table: 'pg_catalog.pg_class' }), 'trigger_config.table');
  t.is(
    await refusedField({ table: 'public.x', database_config_id: '6f0c1c7e-9d3a-4b52-8a51-0f6f8f1d2c3b' }),
    'trigger_config.database_config_id',
  );
  const trigger = await createTrigger(
    node,
    {
      database_config_id: made.json.data.id,
      table: 'public.orders',
      cursor_column: 'id',
      message_template: 'x',
    },
    'db_event',
  );
  const refusedChange = async (trigger_config: Record<string, unknown>) => {
    const { status, json } = await asOwner(node, 'PATCH', `/api/triggers/${trigger.id}`, { trigger_config });
    t.is(status, 400);
    return json.details.field;
  };
  t.is(await refusedChange({ table: 'public.nothing' }), 'trigger_config.table');
  t.is(
    await refusedChange({ database_config_id: '6f0c1c7e-9d3a-4b52-8a51-0f6f8f1d2c3b' }),
    'trigger_config.database_config_id',
  );
});

test('for update events changed rows start conversations and new ones do not', async (t) => {
  const { place, client } = await startShop(t);
  const node = await shared.tenant(t);
  await client.query(`create table tasks (id int primary key, title text, changed timestamptz not null default now());
    create table notes (id uuid primary key default gen_random_uuid(), title text, made timestamptz not null default now(),
      changed timestamptz not null default now());
    insert into tasks (id, title) values (1, 'old'); insert into notes (title) values ('old')`);
  const made = await asOwner(node, 'POST', '/api/database-configs', {
    name: 'shop',
    provider: 'postgresql',
    connection_config: place,
  });
  const common = {
    database_config_id: made.json.data.id,
    events: ['update'],
    cursor_column: 'changed',
    poll_ms: 100,
    message_template: '{{ title }}',
  };
  const triggers = [
    await createTrigger(node, { ...common, table: 'tasks' }, 'db_event'),
    await createTrigger(node, { ...common, table: 'notes', created_column: 'made' }, 'db_event'),
  ];
  const seen = async () => {
    const all = await Promise.all(triggers.map(async (trigger) => executionsOf(node, trigger)));
    // Each is a session of its own: which of two begins first is nobody's promise.
    return all.map((executions) => executions.map(({ input_preview }) => String(input_preview)).toSorted());
  };
  const changed = 'changed = clock_timestamp()';
  await client.query(`insert into tasks (id, title, changed) values (2, 'new', clock_timestamp());
    insert into notes (title, made, changed) values ('new', clock_timestamp(), clock_timestamp());
    update tasks set title = 'old, changed', ${changed} where id = 1;
    update notes set title = 'old, changed', ${changed} where title = 'old'`);
  await eventually(async () => (await seen()).every(({ length }) => length === 1), { everyMs: 200 });
  await client.query(`update tasks set title = 'new, changed', ${changed} where id = 2;
    update notes set title = 'new, changed', ${changed} where title = 'new'`);
  await eventually(async () => (await seen()).every(({ length }) => length >= 2), { everyMs: 200 });
  t.deepEqual(await seen(), [
    ['new, changed', 'old, changed'],
    ['new, changed', 'old, changed'],
  ]);
});
