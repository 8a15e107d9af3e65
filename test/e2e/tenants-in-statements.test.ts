// Tables can be distributed by tenant (docs/guides/plan-capacity.md) because each statement on the path names its tenant.
// PostgreSQL's own parser reads what a node sends while it serves turns, calls and webhooks.
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import test from 'ava';
import pg from 'pg';
import { createTrigger, sendSigned } from '../support/builders/triggers.js';
import { functionsIn, statementsOfFunction, unboundTables } from '../support/builders/tenant-in-sql.js';
import { eventually } from '../support/clocks/eventually.js';
import { readTurn } from '../support/clients/turn-reader.js';
import { recordStatements } from '../support/database/recorded-statements.js';
import { startTestNode } from '../support/servers/node.js';

/** Look-ups before a tenant is known, and work for all tenants, which a node does in the background. */
const acrossTenants = 'troupe_directory';

/** What the role of the writers does for all tenants, off the path. */
const inBackground = [
  {
    begins: /^\s*with given \(since, until\)/,
    reason: 'a rollup finds the calls that ended since it last ran',
  },
] as const;

test('every statement on the path of calls, turns and webhooks names the tenant of each table', async (t) => {
  const statements = recordStatements();
  const node = await startTestNode(t);
  const tables = await tablesOf(node.databaseUrl);
  const answered: string[] = [];
  const receiver = createServer((request, response) => {
    answered.push(request.url ?? '');
    request.resume();
    response.writeHead(200).end();
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  t.teardown(() => receiver.close());
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/answers`;
  const { api_key: key, agent_id: agentId } = node.bootstrap;

  const call = await node.client.call('POST', '/api/v3/llm/public/call', {
    key,
    body: { model: 'sim.echo', query: 'hello' },
  });
  t.is(call.status, 200, call.text);
  const turn = await readTurn({ urls: () => [node.node.baseUrl], key, agentId, body: { message: 'hello' } });
  await readTurn({
    urls: () => [node.node.baseUrl],
    key,
    agentId,
    body: { message: 'again', session_id: turn.sessionId },
  });
  for (const buffered of [false, true]) {
    const trigger = await createTrigger(node, {
      session_strategy: { mode: 'derive', fields: ['user'] },
      execution: {
        mode: 'async',
        callback: { url },
        message_buffer: { enabled: buffered, window_ms: 1_000, max_messages: 2 },
      },
    });
    for (const message of ['one', 'two']) {
      const sent = await sendSigned(node, trigger, { user: 'u1', message });
      t.is(sent.status, 202, sent.text);
    }
  }
  await eventually(() => Promise.resolve(answered.length >= 3), { what: 'all messages are answered' });

  const onPath = statements().filter(
    ({ text, role }) =>
      role !== acrossTenants && isData(text) && !inBackground.some(({ begins }) => begins.test(text)),
  );
  const unbound = onPath.flatMap(({ text, role }) =>
    unboundTables(text, tables).map(
      ({ table }) => `${role}: ${table} in ${text.replaceAll(/\s+/g, ' ').slice(0, 160)}`,
    ),
  );
  t.deepEqual([...new Set(unbound)].sort(), []);
  t.true(onPath.length > 40, `${onPath.length} statements`);

  const functions = functionsBelow(onPath.map(({ text }) => text));
  const unboundInFunctions = [...functions].flatMap(([name, inside]) =>
    inside.flatMap((text) => unboundTables(text, tables).map(({ table }) => `${name}: ${table}`)),
  );
  t.deepEqual(unboundInFunctions, []);
  const all = [...onPath.map(({ text }) => text), ...[...functions.values()].flat()];
  for (const table of [
    'usage_rows',
    'calls',
    'executions',
    'messages',
    'trigger_inbox',
    'deliveries',
    'actors',
  ])
    t.true(
      all.some((text) => text.includes(table)),
      `${table} is on the path`,
    );
});

/** The functions of the platform that the statements call, and those that these call, with their statements. */
function functionsBelow(texts: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, readonly string[]>();
  const open = texts.flatMap(functionsIn);
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    const path = `migrations/functions/${name}.sql`;
    if (found.has(name) || !existsSync(path)) continue;
    const inside = statementsOfFunction(readFileSync(path, 'utf8'));
    found.set(name, inside);
    open.push(...inside.flatMap(functionsIn));
  }
  return found;
}

function isData(text: string): boolean {
  return /^\s*(?:with|select|insert|update|delete)\b/i.test(text);
}

/** Tables and views with a column `tenant_id`. */
async function tablesOf(databaseUrl: string): Promise<ReadonlySet<string>> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  const { rows } = await client.query<{ name: string }>(
    `select case table_schema when 'public' then '' else table_schema || '.' end || table_name as name
       from information_schema.columns where column_name = 'tenant_id' and table_schema in ('public', 'reports')`,
  );
  await client.end();
  return new Set(rows.map(({ name }) => name));
}

const tenantTables = new Set(['books', 'pages', 'reports.sales']);

const bound: Readonly<Record<string, string>> = {
  'a read': 'select * from books where tenant_id = $1 and id = $2',
  'a join by the tenant':
    'select 1 from books b join pages p on p.tenant_id = b.tenant_id and p.book = b.id where b.tenant_id = $1',
  'a join with using': 'select 1 from books join pages using (tenant_id, id)',
  'a list of rows':
    'update books b set x = n.x from unnest($1::uuid[], $2::uuid[]) n (t, id) where (b.tenant_id, b.id) = (n.t, n.id)',
  'a key of a subselect':
    'delete from books where (tenant_id, id) in (select tenant_id, id from pages where tenant_id = $1)',
  'an insert with the tenant': 'insert into books (tenant_id, id) values ($1, $2) on conflict do nothing',
  'a common table expression': 'with found as (select * from books where tenant_id = $1) select * from found',
  'both sides of an or': 'select 1 from books where (tenant_id = $1 and a) or (tenant_id = $2 and b)',
  'a table without tenants': 'select * from users where email = $1',
  'the tenant of the transaction': 'select 1 from books where tenant_id = current_tenant()',
};

const open: Readonly<Record<string, string>> = {
  'a read': 'select * from books where id = $1',
  'a join': 'select 1 from books b join pages p on p.book = b.id where b.tenant_id = $1',
  'a subselect': 'select (select count(*) from pages where book = b.id) from books b where b.tenant_id = $1',
  'an update': 'update books set x = 1 where id = $1',
  'a delete': 'delete from books using users u where u.id = books.owner',
  'an insert without the tenant': 'insert into books (id) values ($1)',
  'an insert from a read': 'insert into books (tenant_id, id) select tenant_id, id from pages where id = $1',
  'a common table expression': 'with found as (select * from books where id = $1) select * from found',
  'one side of an or': 'select 1 from books where (tenant_id = $1 and a) or b',
  'another comparison': 'select 1 from books where tenant_id <> $1',
  'the half of a union': 'select id from books where tenant_id = $1 union all select id from pages',
  'a view': 'select * from reports.sales',
};

for (const [what, text] of Object.entries(bound)) {
  test(`${what} that names the tenant`, (t) => {
    t.deepEqual(unboundTables(text, tenantTables), []);
  });
}

for (const [what, text] of Object.entries(open)) {
  test(`${what} that does not name the tenant is found`, (t) => {
    t.is(unboundTables(text, tenantTables).length, 1);
  });
}

test('the statements of a function are found in both languages', (t) => {
  const plain = statementsOfFunction(
    "create function f(tenant uuid) returns void language sql as 'delete from books where id = 1'",
  );
  t.is(unboundTables(plain[0] ?? '', tenantTables).length, 1);
  const procedural = statementsOfFunction(
    'create function f() returns void language plpgsql as $$ begin update books set x = 1 where id = 2; end $$',
  );
  t.is(unboundTables(procedural[0] ?? '', tenantTables).length, 1);
});

test('the functions of a statement are found', (t) => {
  t.deepEqual(functionsIn('select record_change($1, $2, $3), now()'), ['record_change', 'now']);
});
