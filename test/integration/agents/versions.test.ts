import test from 'ava';
import {
  type AgentsBench,
  dataOf,
  idOf,
  namesOf,
  type Person,
  startAgents,
} from '../../support/servers/agents.js';
import { databaseOfFile } from '../../support/database/database.js';

const database = databaseOfFile(test);
let bench: AgentsBench;

test.serial.before(async () => {
  bench = await startAgents(database);
});

const tool = (name: string, fields: object = {}) => ({
  name,
  type: 'api',
  editor_schema: { api: { url: 'http://127.0.0.1:8/', ...fields } },
});

async function newAgent(fields: object = {}): Promise<{ owner: Person; at: string }> {
  const owner = bench.person(await bench.newTenant(), 'owner');
  const created = await owner.call('POST', '/api/agents', { name: 'versioned', ...fields });
  return { owner, at: `/api/agents/${idOf(created)}` };
}

const numbersOf = async (owner: Person, at: string) =>
  ((await owner.call('GET', `${at}/versions`)).body.data as { version: number }[]).map(
    ({ version }) => version,
  );

test('each publication creates a version with its schemas, listed newest first', async (t) => {
  const { owner, at } = await newAgent({ bio: 'first' });
  await owner.call('POST', `${at}/schemas`, tool('one'));
  await owner.call('POST', `${at}/publish`);
  await owner.call('PATCH', at, { bio: 'second' });
  await owner.call('POST', `${at}/publish`);
  const listed = await owner.call('GET', `${at}/versions`);
  t.is(listed.body['count'], 2);
  const [newest] = listed.body.data as object[];
  t.deepEqual(Object.keys(newest ?? {}).toSorted(), [
    'created_at',
    'created_by',
    'name',
    'snapshot',
    'version',
  ]);
  t.is(listed.body['next_cursor'], null);
  t.like(newest, { version: 2, name: 'Version 2', created_by: owner.caller.userId });
  const first = await owner.call('GET', `${at}/versions/1`);
  t.like(dataOf(first), { version: 1, name: 'Version 1' });
  const snapshot = dataOf(first)['snapshot'] as { bio: string; schemas: { name: string }[] };
  t.is(snapshot.bio, 'first');
  t.deepEqual(
    snapshot.schemas.map(({ name }) => name),
    ['one'],
  );
  t.like(dataOf(await owner.call('GET', `${at}/versions/2`))['snapshot'], { bio: 'second' });
});

test('pages of versions contain each once', async (t) => {
  const { owner, at } = await newAgent();
  for (let index = 0; index < 5; index += 1) await owner.call('POST', `${at}/versions`, {});
  const seen: number[] = [];
  let cursor: unknown = '';
  do {
    const page = await owner.call(
      'GET',
      `${at}/versions?limit=2${cursor === '' ? '' : `&cursor=${String(cursor)}`}`,
    );
    seen.push(...(page.body.data as { version: number }[]).map(({ version }) => version));
    cursor = page.body['next_cursor'];
  } while (cursor !== null);
  t.deepEqual(seen, [5, 4, 3, 2, 1]);
});

test('a page of versions ends when their snapshots become too large', async (t) => {
  const { owner, at } = await newAgent();
  const parameters = { type: 'object', filler: 'x'.repeat(60_000) };
  for (let index = 0; index < 20; index += 1) {
    await owner.call('POST', `${at}/schemas`, { ...tool(`large${index}`), parameters });
  }
  for (let index = 0; index < 10; index += 1) await owner.call('POST', `${at}/versions`, {});
  const seen: number[] = [];
  let pages = 0;
  let cursor: unknown = '';
  do {
    const page = await owner.call('GET', `${at}/versions${cursor === '' ? '' : `?cursor=${String(cursor)}`}`);
    t.true(JSON.stringify(page.body).length < 9 * 1024 * 1024);
    seen.push(...(page.body.data as { version: number }[]).map(({ version }) => version));
    cursor = page.body['next_cursor'];
    pages += 1;
  } while (cursor !== null);
  t.is(pages, 2);
  t.deepEqual(seen, [10, 9, 8, 7, 6, 5, 4, 3, 2, 1]);
});

test('a named version is a snapshot of the working copy and changes nothing that runs', async (t) => {
  const { owner, at } = await newAgent({ bio: 'live' });
  await owner.call('POST', `${at}/publish`);
  await owner.call('PATCH', at, { bio: 'in the works' });
  const named = await owner.call('POST', `${at}/versions`, { name: 'Before the move' });
  t.is(named.status, 201);
  t.like(dataOf(named), { version: 2, name: 'Before the move' });
  t.like(dataOf(named)['snapshot'], { bio: 'in the works' });
  t.like(dataOf(await owner.call('GET', at)), { status: 'published', published_version: 1 });
  const member = bench.person(owner.caller.scope, 'member');
  t.like(dataOf(await member.call('GET', at)), { bio: 'live' });
  t.is(dataOf(await owner.call('POST', `${at}/publish`))['published_version'], 3);
  t.is((await owner.call('POST', `${at}/versions`, { name: '' })).status, 400);
});

test('a rollback of a published agent is a new version of the old content, live at once', async (t) => {
  const { owner, at } = await newAgent({ bio: 'good', metadata: { a: 1 } });
  const kept = idOf(await owner.call('POST', `${at}/schemas`, tool('kept', { timeout_ms: 1_000 })));
  const removed = idOf(await owner.call('POST', `${at}/schemas`, tool('removed')));
  await owner.call('POST', `${at}/publish`, { config: { rate_limit: 7 } });
  await owner.call('PATCH', at, { bio: 'bad', metadata: { a: null, b: 2 } });
  await owner.call('PATCH', `${at}/schemas/${kept}`, { editor_schema: { api: { timeout_ms: 9_000 } } });
  await owner.call('DELETE', `${at}/schemas/${removed}`);
  await owner.call('POST', `${at}/schemas`, tool('added'));
  await owner.call('POST', `${at}/publish`);

  const back = await owner.call('POST', `${at}/versions/1/rollback`);
  t.is(back.status, 200, JSON.stringify(back.body));
  t.like(dataOf(back), { version: 3, name: 'Rollback to version 1' });
  t.like(dataOf(back)['snapshot'], { bio: 'good' });
  t.like(dataOf(await owner.call('GET', at)), {
    bio: 'good',
    metadata: { a: 1 },
    status: 'published',
    published_version: 3,
    config: { rate_limit: 7 },
  });
  const schemas = await owner.call('GET', `${at}/schemas`);
  t.deepEqual(namesOf(schemas).toSorted(), ['kept', 'removed']);
  t.deepEqual(
    (schemas.body.data as { id: string }[]).map(({ id }) => id).toSorted(),
    [kept, removed].toSorted(),
  );
  t.like(dataOf(await owner.call('GET', `${at}/schemas/${kept}`)), {
    revision: 3,
    editor_schema: { api: { timeout_ms: 1_000 } },
  });
  const member = bench.person(owner.caller.scope, 'member');
  t.like(dataOf(await member.call('GET', at)), { bio: 'good' });
  t.deepEqual(await numbersOf(owner, at), [3, 2, 1]);
});

test('a rollback of a published agent refuses a version that could not be published', async (t) => {
  const { owner, at } = await newAgent();
  await owner.call('POST', `${at}/publish`);
  const version = async (): Promise<number> =>
    Number(dataOf(await owner.call('POST', `${at}/versions`, {}))['version']);
  const refusal = async (): Promise<unknown> => {
    const { status, body } = await owner.call('POST', `${at}/versions/${await version()}/rollback`);
    t.is(status, 400, JSON.stringify(body));
    return body['details'];
  };
  const server = { name: 'shop', type: 'mcp', editor_schema: { mcp: { url: 'http://127.0.0.1:8/mcp' } } };
  const added = idOf(await owner.call('POST', `${at}/schemas`, server));
  t.like(await refusal(), { field: 'editor_schema.mcp' });
  await owner.call('DELETE', `${at}/schemas/${added}`);
  const format = (schema: object) => ({ type: 'json_schema', json_schema: { name: 'answer', schema } });
  await owner.call('PATCH', at, { llm_config: { response_format: format({ type: 'no such type' }) } });
  t.like(await refusal(), { field: 'llm_config.response_format.json_schema.schema' });
  await owner.call('PATCH', at, { llm_config: { response_format: format({ type: 'object' }) } });
  t.is((await owner.call('POST', `${at}/versions/${await version()}/rollback`)).status, 200);
});

test('a rollback never publishes a draft', async (t) => {
  const { owner, at } = await newAgent({ bio: 'old' });
  await owner.call('POST', `${at}/versions`, {});
  await owner.call('PATCH', at, { bio: 'new' });
  t.is((await owner.call('POST', `${at}/versions/1/rollback`)).status, 200);
  t.like(dataOf(await owner.call('GET', at)), { bio: 'old', status: 'draft', published_version: null });
  t.deepEqual(await numbersOf(owner, at), [2, 1]);
  await owner.call('DELETE', at);
  t.is((await owner.call('POST', `${at}/versions/1/rollback`)).body['error'], 'conflict');
});

test('a rollback to an unavailable name or secret is refused and changes nothing', async (t) => {
  const { owner, at } = await newAgent();
  const secret = await owner.call('POST', '/api/secrets', {
    name: 'gone',
    value: 'v-a-l-u-e',
    kind: 'generic',
  });
  await owner.call('POST', `${at}/schemas`, tool('keyed', { auth: { type: 'bearer', secret_ref: 'gone' } }));
  await owner.call('POST', `${at}/publish`);
  const schema = (await owner.call('GET', `${at}/schemas`)).body.data as { id: string }[];
  await owner.call('DELETE', `${at}/schemas/${schema[0]?.id}`);
  await owner.call('PATCH', at, { name: 'renamed' });
  await owner.call('POST', `${at}/publish`);
  await owner.call('DELETE', `/api/secrets/${idOf(secret)}`);
  const refused = await owner.call('POST', `${at}/versions/1/rollback`);
  t.is(refused.status, 400);
  t.like(refused.body['details'], { schema: 'keyed', field: 'editor_schema.api.auth.secret_ref' });
  await owner.call('POST', '/api/secrets', { name: 'gone', value: 'v-a-l-u-e', kind: 'generic' });
  await owner.call('POST', '/api/agents', { name: 'versioned' });
  t.is((await owner.call('POST', `${at}/versions/1/rollback`)).body['error'], 'conflict');
  t.like(dataOf(await owner.call('GET', at)), { name: 'renamed', published_version: 2 });
  t.deepEqual(await numbersOf(owner, at), [2, 1]);
  t.deepEqual(namesOf(await owner.call('GET', `${at}/schemas`)), []);
});

test('concurrent rollbacks and publications each create a version', async (t) => {
  const { owner, at } = await newAgent();
  await owner.call('POST', `${at}/publish`);
  const replies = await Promise.all(
    Array.from({ length: 6 }, (_, index) =>
      owner.call('POST', index % 2 === 0 ? `${at}/publish` : `${at}/versions/1/rollback`),
    ),
  );
  const done = replies.filter(({ status }) => status === 200).length;
  t.true(replies.every(({ status }) => status === 200 || status === 409));
  t.true(done >= 3, 'rollbacks never fail; a publication may, when the agent changes under it');
  t.deepEqual(
    await numbersOf(owner, at),
    Array.from({ length: done + 1 }, (_, index) => done + 1 - index),
  );
  t.is(dataOf(await owner.call('GET', at))['published_version'], done + 1);
});

test('versions are compared field by field, with the names of schemas in the paths', async (t) => {
  const { owner, at } = await newAgent({ bio: 'one', tags: ['a'] });
  const id = idOf(await owner.call('POST', `${at}/schemas`, tool('search')));
  await owner.call('POST', `${at}/versions`, {});
  await owner.call('PATCH', at, { bio: 'two', llm_config: { max_tokens: 5 }, tags: ['a', 'b'] });
  await owner.call('PATCH', `${at}/schemas/${id}`, { editor_schema: { api: { timeout_ms: 2_000 } } });
  await owner.call('POST', `${at}/versions`, {});
  await owner.call('DELETE', `${at}/schemas/${id}`);
  const compare = async (query: string) =>
    dataOf(await owner.call('GET', `${at}/versions/compare?${query}`))['changes'];
  t.deepEqual(await compare('from=1&to=2'), [
    { path: 'bio', kind: 'changed', from: 'one', to: 'two' },
    { path: 'llm_config.max_tokens', kind: 'added', to: 5 },
    { path: 'schemas.search.editor_schema.api.timeout_ms', kind: 'changed', from: 30_000, to: 2_000 },
    { path: 'tags.1', kind: 'added', to: 'b' },
  ]);
  t.like(await compare('from=2'), [{ path: 'schemas.search', kind: 'removed' }]);
  t.deepEqual(await compare('from=draft&to=draft'), []);
  t.is((await owner.call('GET', `${at}/versions/compare?from=9`)).status, 404);
  t.is((await owner.call('GET', `${at}/versions/compare?from=x`)).status, 400);
  t.is((await owner.call('GET', `${at}/versions/compare`)).body['error'], 'missing_required_field');
});

test('unknown versions get 404, and editors and members cannot read versions', async (t) => {
  const { owner, at } = await newAgent();
  for (const version of ['1', '0', '-1', 'x', '99999999999999']) {
    t.is((await owner.call('GET', `${at}/versions/${version}`)).body['error'], 'not_found');
    t.is((await owner.call('POST', `${at}/versions/${version}/rollback`)).body['error'], 'not_found');
  }
  const other = await newAgent();
  t.is((await owner.call('GET', `${other.at}/versions`)).body['error'], 'agent_not_found');
  for (const role of ['editor', 'member'] as const) {
    const person = bench.person(owner.caller.scope, role);
    for (const [method, path] of [
      ['GET', '/versions'],
      ['GET', '/versions/1'],
      ['GET', '/versions/compare?from=1'],
      ['POST', '/versions'],
      ['POST', '/versions/1/rollback'],
    ] as const) {
      t.is((await person.call(method, `${at}${path}`)).status, 403);
    }
  }
});

test('an agent is duplicated with its schemas under a free name', async (t) => {
  const { owner, at } = await newAgent({ bio: 'original', metadata: { a: 1 } });
  await owner.call('POST', `${at}/schemas`, tool('search'));
  await owner.call('POST', `${at}/publish`);
  const editor = bench.person(owner.caller.scope, 'editor');
  const first = await editor.call('POST', `${at}/duplicate`);
  t.is(first.status, 201);
  t.like(dataOf(first), {
    name: 'versioned-copy',
    bio: 'original',
    metadata: { a: 1 },
    status: 'draft',
    published_version: null,
    created_by: editor.caller.userId,
  });
  const copies = await owner.call('GET', `/api/agents/${idOf(first)}/schemas`);
  const originals = await owner.call('GET', `${at}/schemas`);
  t.deepEqual(namesOf(copies), ['search']);
  t.not((copies.body.data as { id: string }[])[0]?.id, (originals.body.data as { id: string }[])[0]?.id);
  t.is(dataOf(await owner.call('POST', `${at}/duplicate`, {}))['name'], 'versioned-copy-2');
  t.is(dataOf(await owner.call('POST', `${at}/duplicate`, { name: 'Mine' }))['name'], 'Mine');
  t.is((await owner.call('POST', `${at}/duplicate`, { name: 'mine' })).body['error'], 'conflict');
  t.is((await owner.call('POST', `${at}/duplicate`, { name: 'a b' })).status, 400);
});
