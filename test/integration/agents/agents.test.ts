import { randomUUID } from 'node:crypto';
import test from 'ava';
import { type AgentsBench, dataOf, idOf, namesOf, startAgents } from '../../support/servers/agents.js';
import { databaseOfFile } from '../../support/database/database.js';
import { ownerView } from '../../support/database/owner-view.js';

const database = databaseOfFile(test);
let bench: AgentsBench;

test.serial.before(async () => {
  bench = await startAgents(database);
});

async function newOwner() {
  return bench.person(await bench.newTenant(), 'owner');
}

test('an agent with only a name is created as a draft with the specified defaults', async (t) => {
  const owner = await newOwner();
  const created = await owner.call('POST', '/api/agents', { name: 'support-bot' });
  t.is(created.status, 201);
  t.deepEqual(created.body, {
    success: true,
    data: { id: idOf(created), name: 'support-bot', status: 'draft' },
  });
  const got = await owner.call('GET', `/api/agents/${idOf(created)}`);
  t.is(got.status, 200);
  const { created_at, updated_at, ...rest } = dataOf(got);
  t.deepEqual(rest, {
    id: idOf(created),
    name: 'support-bot',
    commercial_name: 'support-bot',
    bio: '',
    type: 'assistant',
    status: 'draft',
    llm_config: { model: 'auto', temperature: 0.7, max_tool_rounds: 8 },
    metadata: {},
    tags: [],
    visibility: 'tenant',
    quick_replies_enabled: true,
    chat_enabled: true,
    config: { rate_limit: null, allowed_users: [] },
    published_version: null,
    created_by: owner.caller.userId,
  });
  t.is(created_at, updated_at);
  t.false(Number.isNaN(Date.parse(String(created_at))));
});

test('an agent is returned with every field as given', async (t) => {
  const owner = await newOwner();
  const fields = {
    name: 'Sales_2.eu',
    commercial_name: 'Sales, Europe',
    bio: 'Sells – überall.',
    type: 'data_analyst',
    llm_config: {
      model: 'sim.echo',
      temperature: 0,
      max_tokens: 200,
      system_prompt: 'Be short.',
      fallback_models: ['sim.lorem-5'],
      max_tool_rounds: 3,
    },
    metadata: { team: { name: 'north' }, memory: { enabled: true, window_messages: 10 } },
    tags: ['a', 'b'],
    visibility: 'tenant',
    quick_replies_enabled: false,
    chat_enabled: false,
  };
  const created = await owner.call('POST', '/api/agents', fields);
  t.is(created.status, 201);
  t.like(dataOf(await owner.call('GET', `/api/agents/${idOf(created)}`)), fields);
});

test('a list shows the summary fields, newest first, and their count', async (t) => {
  const owner = await newOwner();
  for (const name of ['one', 'two', 'three']) await owner.call('POST', '/api/agents', { name });
  const listed = await owner.call('GET', '/api/agents');
  t.is(listed.body['count'], 3);
  t.deepEqual(namesOf(listed), ['three', 'two', 'one']);
  const [first] = listed.body.data as object[];
  t.deepEqual(Object.keys(first ?? {}), [
    'id',
    'name',
    'commercial_name',
    'bio',
    'type',
    'status',
    'llm_config',
    'created_at',
    'updated_at',
  ]);
  t.false('next_cursor' in listed.body);
});

test('a list filters by status, type, author and archive, and refuses invalid values', async (t) => {
  const owner = await newOwner();
  const admin = bench.person(owner.caller.scope, 'admin');
  const ids: Record<string, string> = {};
  for (const [name, type] of [
    ['drafted', 'workflow'],
    ['live', 'workflow'],
    ['gone', 'classifier'],
  ] as const) {
    ids[name] = idOf(await owner.call('POST', '/api/agents', { name, type }));
  }
  await admin.call('POST', '/api/agents', { name: 'of-admin' });
  await owner.call('POST', `/api/agents/${ids['live']}/publish`);
  await owner.call('DELETE', `/api/agents/${ids['gone']}`);
  const names = async (query: string) => namesOf(await owner.call('GET', `/api/agents${query}`)).toSorted();
  t.deepEqual(await names(''), ['drafted', 'live', 'of-admin']);
  t.deepEqual(await names('?includeArchived=true'), ['drafted', 'gone', 'live', 'of-admin']);
  t.deepEqual(await names('?includeArchived=false'), ['drafted', 'live', 'of-admin']);
  t.deepEqual(await names('?status=archived'), ['gone']);
  t.deepEqual(await names('?status=published'), ['live']);
  t.deepEqual(await names('/published'), ['live']);
  t.deepEqual(await names('?type=workflow&status=draft'), ['drafted']);
  t.deepEqual(await names(`?createdBy=${admin.caller.userId}`), ['of-admin']);
  for (const query of [
    'status=gone',
    'type=robot',
    'createdBy=me',
    'includeArchived=maybe',
    'limit=0',
    'cursor=x',
  ]) {
    const refused = await owner.call('GET', `/api/agents?${query}`);
    t.is(refused.status, 400, query);
    t.is(refused.body['error'], 'validation_error');
    t.like(refused.body['details'], { field: query.split('=')[0] });
  }
  t.is((await owner.call('GET', '/api/agents?limit=101')).status, 200, 'cut to the largest page');
  const versions = `/api/agents/${ids['live']}/versions`;
  t.is((await owner.call('GET', `${versions}?limit=101`)).status, 200);
  t.is((await owner.call('GET', `${versions}?limit=0`)).status, 400);
});

test('a list tells budgets, and filters by them', async (t) => {
  const owner = await newOwner();
  const budget = { usd: 5, period: 'month' };
  await owner.call('POST', '/api/agents', { name: 'free' });
  await owner.call('POST', '/api/agents', { name: 'nothing', metadata: { budget: null } });
  await owner.call('POST', '/api/agents', { name: 'frugal', metadata: { budget, other: true } });
  const all = await owner.call('GET', '/api/agents');
  t.deepEqual(
    (all.body['data'] as { name: string; budget?: object }[]).map(({ name, budget: one }) => [name, one]),
    [
      ['frugal', budget],
      ['nothing', undefined],
      ['free', undefined],
    ],
  );
  t.deepEqual(namesOf(await owner.call('GET', '/api/agents?budgeted=true')), ['frugal']);
});

test('the pages of a list contain every agent once', async (t) => {
  const owner = await newOwner();
  for (let index = 0; index < 5; index += 1) await owner.call('POST', '/api/agents', { name: `a${index}` });
  const seen: string[] = [];
  let cursor: unknown = '';
  do {
    const page = await owner.call(
      'GET',
      `/api/agents?limit=2${cursor === '' ? '' : `&cursor=${String(cursor)}`}`,
    );
    t.true(namesOf(page).length <= 2);
    seen.push(...namesOf(page));
    cursor = page.body['next_cursor'];
  } while (cursor !== null);
  t.deepEqual(seen, ['a4', 'a3', 'a2', 'a1', 'a0']);
  t.is((await owner.call('GET', `/api/agents?cursor=${randomUUID()}`)).status, 400);
});

/** Copies of one agent, made by SQL; each has a prompt of so many characters. */
async function copyAgent(id: string, copies: number, promptCharacters: number): Promise<void> {
  const owner = await ownerView(database.url);
  try {
    await owner.query(
      `insert into agents (tenant_id, id, document, created_at)
       select tenant_id, gen_random_uuid(),
         jsonb_set(document, '{llm_config,system_prompt}', to_jsonb(repeat('p', $3::int)))
           || jsonb_build_object('name', 'copy-' || n),
         created_at + n * interval '1 second'
       from agents, generate_series(1, $2::int) n where id = $1`,
      [id, copies, promptCharacters],
    );
  } finally {
    await owner.end();
  }
}

test('a list without a limit has all agents, however many', async (t) => {
  const owner = await newOwner();
  const first = idOf(
    await owner.call('POST', '/api/agents', { name: 'first', llm_config: { model: 'auto' } }),
  );
  await copyAgent(first, 1_200, 10);
  const all = await owner.call('GET', '/api/agents');
  t.is(all.status, 200, JSON.stringify(all.body).slice(0, 500));
  t.is(new Set(namesOf(all)).size, 1_201);
  t.is(namesOf(all).at(-1), 'first');
  t.false('next_cursor' in all.body);
});

test('a list that would be too large to answer at once ends early and continues with its cursor', async (t) => {
  const owner = await newOwner();
  const first = idOf(
    await owner.call('POST', '/api/agents', { name: 'first', llm_config: { model: 'auto' } }),
  );
  await copyAgent(first, 150, 100_000);
  const bytesMax = 10 * 1024 * 1024;
  const seen: string[] = [];
  let page = await owner.call('GET', '/api/agents');
  for (;;) {
    t.true(JSON.stringify(page.body).length < bytesMax);
    seen.push(...namesOf(page));
    const { next_cursor: cursor } = page.body;
    if (typeof cursor !== 'string') break;
    page = await owner.call('GET', `/api/agents?cursor=${cursor}&limit=100`);
  }
  t.is(seen.length, 151);
  t.is(new Set(seen).size, 151);
});

test('a name is unique in a tenant regardless of case, and free in another', async (t) => {
  const owner = await newOwner();
  await owner.call('POST', '/api/agents', { name: 'twin' });
  const second = await owner.call('POST', '/api/agents', { name: 'Twin' });
  t.is(second.status, 409);
  t.like(second.body, { error: 'conflict', status: 'error', details: { field: 'name' } });
  t.is((await (await newOwner()).call('POST', '/api/agents', { name: 'twin' })).status, 201);
});

test('of ten concurrent creations with one name exactly one succeeds', async (t) => {
  const owner = await newOwner();
  const replies = await Promise.all(
    Array.from({ length: 10 }, () => owner.call('POST', '/api/agents', { name: 'wanted' })),
  );
  t.deepEqual(
    replies.map(({ status }) => status).toSorted((a, b) => a - b),
    [201, ...Array<number>(9).fill(409)],
  );
});

test('a patch merges into nested objects, removes with null, and keeps unnamed fields', async (t) => {
  const owner = await newOwner();
  const id = idOf(
    await owner.call('POST', '/api/agents', {
      name: 'patched',
      bio: 'before',
      llm_config: { model: 'sim.echo', temperature: 1.5, system_prompt: 'Hi.' },
      metadata: { kept: 1, nested: { a: 1, b: 2 }, gone: true },
      tags: ['x', 'y'],
    }),
  );
  const patched = await owner.call('PATCH', `/api/agents/${id}`, {
    bio: null,
    llm_config: { temperature: null, system_prompt: 'Ho.' },
    metadata: { nested: { b: null, c: { d: null, e: 5 } }, gone: null },
    tags: ['z'],
    status: 'published',
    id: randomUUID(),
  });
  t.is(patched.status, 200);
  t.like(dataOf(patched), { id, status: 'draft', name: 'patched', bio: '', tags: ['z'] });
  t.deepEqual(dataOf(patched)['llm_config'], {
    model: 'sim.echo',
    temperature: 0.7,
    system_prompt: 'Ho.',
    max_tool_rounds: 8,
  });
  t.deepEqual(dataOf(patched)['metadata'], { kept: 1, nested: { a: 1, c: { e: 5 } } });
  t.deepEqual(dataOf(await owner.call('GET', `/api/agents/${id}`)), dataOf(patched));
  t.is((await owner.call('PATCH', `/api/agents/${id}`, { name: null })).body['error'], 'validation_error');
  t.is((await owner.call('PATCH', `/api/agents/${id}`, { llm_config: { temperature: 3 } })).status, 400);
  t.deepEqual(dataOf(await owner.call('GET', `/api/agents/${id}`)), dataOf(patched));
});

test('concurrent patches of different fields all take effect', async (t) => {
  const owner = await newOwner();
  const id = idOf(await owner.call('POST', '/api/agents', { name: 'busy' }));
  const names = Array.from({ length: 8 }, (_, index) => `key${index}`);
  const replies = await Promise.all(
    names.map((name) => owner.call('PATCH', `/api/agents/${id}`, { metadata: { [name]: true } })),
  );
  t.true(replies.every(({ status }) => status === 200));
  const metadata = dataOf(await owner.call('GET', `/api/agents/${id}`))['metadata'] as object;
  t.deepEqual(Object.keys(metadata).toSorted(), names);
});
