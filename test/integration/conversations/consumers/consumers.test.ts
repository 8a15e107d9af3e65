import test from 'ava';
import pg from 'pg';
import { touchConsumer, touchStatement } from '../../../../src/conversations/consumers/index.js';
import type { TenantScope } from '../../../../src/kernel/tenant-scope.js';
import type { NameSource } from '../../../../src/conversations/invocation/index.js';
import { type ConsumersBench, insertSession, startConsumers } from '../../../support/servers/consumers.js';
import { databaseOfFile } from '../../../support/database/database.js';

const database = databaseOfFile(test);
let bench: ConsumersBench;

test.serial.before(async () => {
  bench = await startConsumers(database);
});

const noon = Date.parse('2026-03-01T12:00:00.000Z');
const at = (seconds: number): Date => new Date(noon + seconds * 1_000);

function touch(
  scope: TenantScope,
  key: string,
  seconds: number,
  {
    channel = 'stream',
    name,
    source = 'inferred',
  }: { channel?: string; name?: string; source?: NameSource } = {},
): Promise<void> {
  const given = name === undefined ? undefined : { name, source };
  return bench.store.inTenant(scope, (tx) =>
    touchConsumer(tx, { key, name: given, channel, at: at(seconds) }),
  );
}

const pathOf = (key: string): string => `/api/v1/consumers/${encodeURIComponent(key)}`;

test('a consumer is known from the first turn, with channels and times of all turns', async (t) => {
  const scope = await bench.newTenant();
  const owner = bench.as(scope, 'owner');
  const key = 'ada/+49 171?#%';
  t.is((await owner.get(pathOf(key))).status, 404);
  await touch(scope, key, 0, { channel: 'webhook' });
  await touch(scope, key, 300);
  await touch(scope, key, 200);
  const answer = await owner.get(pathOf(key));
  t.is(answer.status, 200);
  t.deepEqual(answer.at('data'), {
    consumer_key: key,
    display_name: null,
    channels: ['stream', 'webhook'],
    total_sessions: 0,
    total_turns: 0,
    first_seen: at(0).toISOString(),
    last_seen: at(300).toISOString(),
    blocked: false,
    blocked_reason: null,
  });
});

test("sessions and turns are counted only from the consumer key's sessions", async (t) => {
  const scope = await bench.newTenant();
  await touch(scope, 'c', 0);
  await touch(scope, 'other', 0);
  const older = await insertSession(bench.store, scope, { consumerKey: 'c', turns: 3, at: at(10) });
  const newer = await insertSession(bench.store, scope, { consumerKey: 'c', turns: 4, at: at(20) });
  await insertSession(bench.store, scope, { consumerKey: 'other', turns: 5, at: at(30) });
  const owner = bench.as(scope, 'owner');
  const { data } = (await owner.get(pathOf('c'))).body as { data: Record<string, unknown> };
  t.is(data['total_sessions'], 2);
  t.is(data['total_turns'], 7);
  t.is(data['last_seen'], at(20).toISOString());

  const first = await owner.get(`${pathOf('c')}/sessions?limit=1`);
  t.is(first.at('data.0.session_id'), newer);
  t.is(first.at('data.0.total_turns'), 4);
  t.is(first.at('data.0.control_mode'), 'engaged');
  t.is(first.at('data.0.ended_at'), new Date(at(20).getTime() + 86_400_000).toISOString());
  const second = await owner.get(`${pathOf('c')}/sessions?limit=1&cursor=${first.textAt('next_cursor')}`);
  t.is(second.at('data.0.session_id'), older);
  t.is(second.at('next_cursor'), null);
  t.is((await owner.get(`${pathOf('nobody')}/sessions`)).status, 404);
});

test('a declared name replaces any, an inferred one only fills an empty name', async (t) => {
  const scope = await bench.newTenant();
  const name = async () => (await bench.as(scope, 'owner').get(pathOf('c'))).at('data.display_name');
  await touch(scope, 'c', 0, { name: 'wa-ada', source: 'inferred' });
  t.is(await name(), 'wa-ada');
  await touch(scope, 'c', 1, { name: 'wa-other', source: 'inferred' });
  t.is(await name(), 'wa-ada');
  await touch(scope, 'c', 2, { name: 'Ada', source: 'declared' });
  t.is(await name(), 'Ada');
  await touch(scope, 'c', 3, { name: 'wa-ada', source: 'inferred' });
  await touch(scope, 'c', 4);
  t.is(await name(), 'Ada');
  await touch(scope, 'c', 5, { name: 'Ada L.', source: 'declared' });
  t.is(await name(), 'Ada L.');
});

test("one statement records the consumers of many tenants' turns, and repeating it changes nothing", async (t) => {
  const scopes = [await bench.newTenant(), await bench.newTenant()];
  const rows = scopes.flatMap(({ tenantId: tenant_id }) => [
    { tenant_id, consumer_key: 'c', display_name: 'wa', declared: false, channel: 'webhook', at: at(0) },
    { tenant_id, consumer_key: 'c', display_name: 'Ada', declared: true, channel: 'stream', at: at(90) },
    { tenant_id, consumer_key: 'd', display_name: null, declared: false, channel: 'stream', at: at(0) },
    { tenant_id, consumer_key: 'c', display_name: 'wa', declared: false, channel: 'stream', at: at(60) },
  ]);
  const writer = new pg.Client({ connectionString: database.url, options: '-c role=troupe_writer' });
  await writer.connect();
  t.teardown(() => writer.end());
  const versions = async () => {
    const { rows: found } = await writer.query(
      'select consumer_key, xmin::text from consumers where tenant_id = any($1) order by 1, 2',
      [scopes.map(({ tenantId }) => tenantId)],
    );
    return found;
  };
  const tell = () => writer.query({ ...touchStatement, values: [JSON.stringify(rows)] });
  await tell();
  const before = await versions();
  await tell();
  t.deepEqual(await versions(), before, 'no row was written again');
  for (const scope of scopes) {
    const answer = await bench.as(scope, 'owner').get(pathOf('c'));
    t.is(answer.at('data.display_name'), 'Ada');
    t.deepEqual(answer.at('data.channels'), ['stream', 'webhook']);
    t.is(answer.at('data.last_seen'), at(90).toISOString());
    t.is((await bench.as(scope, 'owner').get(pathOf('d'))).at('data.display_name'), null);
  }
});

test('the list shows the latest first, in pages, and searches by key and name', async (t) => {
  const scope = await bench.newTenant();
  const owner = bench.as(scope, 'owner');
  for (let index = 0; index < 5; index += 1)
    await touch(scope, `key-${index}`, index * 100, { name: `Name ${index}%`, source: 'declared' });
  // Two of the same moment do not get lost between pages.
  await touch(scope, 'key-5', 400);
  const keys: string[] = [];
  let cursor = '';
  for (;;) {
    const page = await owner.get(`/api/v1/consumers?limit=2${cursor}`);
    const {
      data,
      count,
      next_cursor: next,
    } = page.body as {
      data: { consumer_key: string }[];
      count: number;
      next_cursor: string | null;
    };
    t.is(count, data.length);
    keys.push(...data.map((row) => row.consumer_key));
    if (next === null) break;
    cursor = `&cursor=${next}`;
  }
  t.deepEqual(keys, ['key-4', 'key-5', 'key-3', 'key-2', 'key-1', 'key-0']);
  const found = async (search: string) =>
    (
      (await owner.get(`/api/v1/consumers?search=${encodeURIComponent(search)}`)).body as {
        data: { consumer_key: string }[];
      }
    ).data.map((row) => row.consumer_key);
  t.deepEqual(await found('nAmE 3'), ['key-3']);
  t.deepEqual(await found('KEY-5'), ['key-5']);
  t.deepEqual(await found('3%'), ['key-3']);
  t.deepEqual(await found('_'), [], 'signs of patterns are letters like any other');
  t.is((await owner.get('/api/v1/consumers?cursor=nonsense')).status, 400);
  t.is((await owner.get('/api/v1/consumers?limit=0')).status, 400);
});

test("another tenant's consumers are not found", async (t) => {
  const [mine, theirs] = [await bench.newTenant(), await bench.newTenant()];
  await touch(theirs, 'c', 0);
  await insertSession(bench.store, theirs, { consumerKey: 'c', turns: 1, at: at(0) });
  const me = bench.as(mine, 'owner');
  t.is((await me.get(pathOf('c'))).status, 404);
  t.is((await me.get(`${pathOf('c')}/sessions`)).status, 404);
  t.is((await me.get('/api/v1/consumers')).at('count'), 0);
  await me.deny('c');
  t.is((await bench.as(theirs, 'owner').get(pathOf('c'))).at('data.blocked'), false);
  t.is(await bench.subject.isDenied(theirs, 'c'), false);
  t.is(await bench.subject.isDenied(mine, 'c'), true);
});

test('owner, admin and editor read consumers, members do not', async (t) => {
  const scope = await bench.newTenant();
  for (const role of ['owner', 'admin', 'editor'] as const)
    for (const kind of ['user', 'key'] as const)
      t.is((await bench.as(scope, role, kind).get('/api/v1/consumers')).status, 200);
  t.is((await bench.as(scope, 'member').get('/api/v1/consumers')).status, 403);
});
