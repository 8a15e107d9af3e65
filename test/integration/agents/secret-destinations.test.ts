// Secret destinations: what an editor may save, and what is sent for an editor.
import test from 'ava';
import { callApiTool } from '../../../src/agents/tools/api-tool.js';
import { SecretValue } from '../../../src/tenancy/vault/index.js';
import { type AgentsBench, dataOf, idOf, type Person, startAgents } from '../../support/servers/agents.js';
import { databaseOfFile } from '../../support/database/database.js';
import { ownerView } from '../../support/database/owner-view.js';
import { oneTenant } from '../../support/servers/sandbox.js';
import { answerJson, startMcpServer, startToolServer } from '../../support/servers/tool-servers.js';

const database = databaseOfFile(test);
let bench: AgentsBench;

test.serial.before(async () => {
  bench = await startAgents(database);
});

interface Place {
  readonly owner: Person;
  readonly editor: Person;
  readonly path: string;
  readonly agent: string;
}

/** With a secret `open`, allowed at api.example.com and below example.org, and a secret `closed` without a list. */
async function newPlace(): Promise<Place> {
  const scope = await bench.newTenant();
  const owner = bench.person(scope, 'owner');
  const editor = bench.person(scope, 'editor');
  const hosts = ['api.example.com', '*.example.org', '127.0.0.1'];
  await owner.call('POST', '/api/secrets', {
    name: 'open',
    value: 'open-value',
    kind: 'generic',
    allowed_hosts: hosts,
  });
  await owner.call('POST', '/api/secrets', { name: 'closed', value: 'closed-value', kind: 'generic' });
  const agent = `/api/agents/${idOf(await owner.call('POST', '/api/agents', { name: 'careful' }))}`;
  return { owner, editor, agent, path: `${agent}/schemas` };
}

const tool = (url: string, fields: object) => ({
  name: 'tool',
  type: 'api',
  editor_schema: { api: { url, ...fields } },
});
const bearer = (secret_ref: string) => ({ auth: { type: 'bearer', secret_ref } });

test('an editor sends a secret only to hosts in its list, wherever the tool uses it', async (t) => {
  const { editor, path } = await newPlace();
  const allowed = [
    tool('https://api.example.com/x', bearer('open')),
    tool('https://a.example.org/?k=${secret.open}', {}),
    tool('https://evil.example.net/', {}),
  ];
  for (const [index, body] of allowed.entries()) {
    const created = await editor.call('POST', path, { ...body, name: `tool${index}` });
    t.is(created.status, 201, JSON.stringify(created.body));
  }
  const evil = 'https://evil.example.net/';
  const refused = [
    [tool(evil, bearer('open')), 'editor_schema.api.auth.secret_ref'],
    [tool('https://example.org/', bearer('open')), 'editor_schema.api.auth.secret_ref'],
    [tool(`${evil}?k=\${secret.open}`, {}), 'editor_schema.api.url'],
    [tool(evil, { headers: { 'X-K': '${secret.open}' } }), 'editor_schema.api.headers'],
    [tool(evil, { query: { k: '${secret.open}' } }), 'editor_schema.api.query'],
    [tool(evil, { body: { deep: [{ k: 'a ${secret.open} b' }] } }), 'editor_schema.api.body'],
    [tool('https://api.example.com/', bearer('closed')), 'editor_schema.api.auth.secret_ref'],
    [tool('https://api.example.com/', bearer('not-there')), 'editor_schema.api.auth.secret_ref'],
    [
      { name: 'tool', type: 'mcp', editor_schema: { mcp: { url: evil, ...bearer('open') } } },
      'editor_schema.mcp.auth.secret_ref',
    ],
  ] as const;
  for (const [body, field] of refused) {
    const reply = await editor.call('POST', path, body);
    t.is(reply.status, 403, JSON.stringify(body));
    t.like(reply.body, { error: 'insufficient_permissions', details: { field } });
  }
});

test("an owner's approval stays when an editor changes the rest, and ends when the host changes", async (t) => {
  const { owner, editor, path } = await newPlace();
  const created = await owner.call('POST', path, tool('https://one.example.net/a', bearer('closed')));
  t.is(created.status, 201);
  const at = `${path}/${idOf(created)}`;
  const patch = (editor_schema: object) =>
    editor.call('PATCH', at, { editor_schema: { api: editor_schema } });
  t.is((await patch({ url: 'https://one.example.net/b', timeout_ms: 2_000 })).status, 200);
  t.is((await patch({ url: 'https://two.example.net/b' })).status, 403);
  t.is(
    (await patch({ headers: { 'X-K': '${secret.open}' } })).status,
    403,
    'another secret to the same host',
  );
  t.is((await patch({ auth: { type: 'none', secret_ref: null } })).status, 200);
  t.is((await patch(bearer('closed'))).status, 403, 'taken out, it is no longer approved');
  t.is((await owner.call('PATCH', at, { editor_schema: { api: bearer('closed') } })).status, 200);
  t.is((await patch({ timeout_ms: 3_000 })).status, 200);
});

test("an owner's approval applies to its scheme, host and port, and to no other", async (t) => {
  const { owner, editor, path } = await newPlace();
  for (const [type, fields] of [
    ['api', bearer('closed')],
    ['api', { headers: { 'X-K': '${secret.closed}' } }],
    ['mcp', bearer('closed')],
  ] as const) {
    const of = (url: string, more: object = {}) => ({ editor_schema: { [type]: { url, ...more } } });
    const name = `${type}${Object.keys(fields).join('')}`;
    const body = { name, type, ...of('https://one.example.net/a', fields) };
    const created = await owner.call('POST', path, body);
    t.is(created.status, 201, JSON.stringify(created.body));
    const at = `${path}/${idOf(created)}`;
    t.is((await editor.call('PATCH', at, of('https://one.example.net:443/b'))).status, 200);
    for (const url of [
      'http://one.example.net/b',
      'http://one.example.net:443/b',
      'https://one.example.net:444/b',
    ]) {
      const refused = await editor.call('PATCH', at, of(url));
      t.is(refused.status, 403, `${type} ${url}`);
      t.like(refused.body, { error: 'insufficient_permissions' });
    }
    t.is((await owner.call('PATCH', at, of('http://one.example.net:8080/'))).status, 200);
    t.is((await editor.call('PATCH', at, of('http://one.example.net:8080/c'))).status, 200);
    t.is((await editor.call('PATCH', at, of('https://one.example.net/c'))).status, 403, 'no longer approved');
  }
});

test('a listed host is reached over TLS on any port, and unencrypted only on the local machine', async (t) => {
  const { editor, path } = await newPlace();
  const create = (url: string) => editor.call('POST', path, { ...tool(url, bearer('open')), name: 'one' });
  t.is((await create('http://api.example.com/')).status, 403);
  t.is((await create('http://a.example.org:8080/')).status, 403);
  const created = await create('https://api.example.com:8443/');
  t.is(created.status, 201);
  const at = `${path}/${idOf(created)}`;
  const patch = (url: string) => editor.call('PATCH', at, { editor_schema: { api: { url } } });
  t.is((await patch('http://127.0.0.1:8080/')).status, 200);
  t.is((await patch('http://api.example.com:8443/')).status, 403);
});

test('an old approval that names only the host applies to https on its default port', async (t) => {
  const { owner, editor, path } = await newPlace();
  const view = await ownerView(database.url);
  t.teardown(() => view.end());
  const server = await startToolServer(t, (_, response) => answerJson(response, { ok: true }));
  const plain = await owner.call('POST', path, tool(`${server.url}/`, bearer('closed')));
  const usual = await owner.call('POST', path, {
    ...tool('https://one.example.net/', bearer('closed')),
    name: 'usual',
  });
  const hosts = '{name:closed one.example.net,name:closed 127.0.0.1}';
  await view.query('update agent_schemas set approved = $1 where id = any($2)', [
    hosts,
    [idOf(plain), idOf(usual)],
  ]);
  const patch = (created: typeof plain) =>
    editor.call('PATCH', `${path}/${idOf(created)}`, { description: 'changed' });
  t.is((await patch(usual)).status, 200);
  t.is((await patch(usual)).status, 200);
  t.is((await editor.call('POST', `${path}/${idOf(plain)}/test`, {})).status, 403);
  t.is(server.heard.length, 0, 'nothing was sent');
});

test('a tool request with a secret is marked so that it follows no redirect elsewhere', async (t) => {
  const sent: unknown[] = [];
  const parts = {
    egress: {
      fetchGuarded: async (request: { readonly holdsSecret?: boolean; readonly share?: string }) => {
        sent.push(request.holdsSecret);
        t.is(request.share, oneTenant.tenantId);
        return { status: 200, headers: {}, url: '', body: Buffer.from('{}'), truncated: false };
      },
    },
    expressions: { evaluate: async () => null },
  };
  const call = {
    scope: oneTenant,
    args: {},
    context: {},
    secrets: async () => new SecretValue('value'),
    signal: new AbortController().signal,
    strict: false,
  };
  const base = { url: 'http://one.example.net/', method: 'GET', timeout_ms: 1_000 } as const;
  await callApiTool(parts, { ...base, auth: { type: 'bearer', secret_ref: 'one' } }, call);
  await callApiTool(parts, { ...base, auth: { type: 'none' }, query: { k: '${secret.one}' } }, call);
  await callApiTool(parts, { ...base, auth: { type: 'none' } }, call);
  t.deepEqual(sent, [true, true, false]);
});

test('a secret named before it exists is not sent for an editor once it does', async (t) => {
  const { owner, editor, path } = await newPlace();
  const server = await startToolServer(t, (_, response) => answerJson(response, { ok: true }));
  const created = await owner.call('POST', path, tool(`${server.url}/`, bearer('late')));
  const at = `${path}/${idOf(created)}`;
  await owner.call('POST', '/api/secrets', { name: 'late', value: 'late-value', kind: 'generic' });
  t.is((await editor.call('POST', `${at}/test`, {})).status, 200, 'the owner wrote it, and so approved it');

  const unguarded = await editor.call('POST', path, { ...tool(`${server.url}/`, {}), name: 'plain' });
  t.is((await editor.call('POST', `${path}/${idOf(unguarded)}/test`, {})).status, 200);
});

test('a host removed from the list is no longer served for an editor', async (t) => {
  const { owner, editor, path } = await newPlace();
  const server = await startToolServer(t, (_, response) => answerJson(response, { ok: true }));
  const mcp = await startMcpServer(t, 'open-value');
  const one = await editor.call('POST', path, tool(`${server.url}/`, bearer('open')));
  const two = await editor.call('POST', path, {
    name: 'server',
    type: 'mcp',
    editor_schema: { mcp: { url: mcp.url, ...bearer('open') } },
  });
  const test = () => editor.call('POST', `${path}/${idOf(one)}/test`, {});
  const discover = () => editor.call('POST', `${path}/${idOf(two)}/discover`);
  t.is((await test()).status, 200);
  t.is((await discover()).status, 200);
  const secrets = (await owner.call('GET', '/api/secrets')).body.data as { id: string; name: string }[];
  const id = secrets.find(({ name }) => name === 'open')?.id;
  const changed = await owner.call('PATCH', `/api/secrets/${id}`, { allowed_hosts: [] });
  t.is(changed.status, 200, JSON.stringify(changed.body));
  const heard = [server.heard.length, mcp.heard.length];
  t.is((await test()).status, 403);
  t.is((await discover()).status, 403);
  const validated = await editor.call('POST', `${path.replace('/schemas', '')}/validate`);
  t.like(dataOf(validated), { valid: false, issues: [{ field: 'editor_schema.mcp.auth.secret_ref' }] });
  t.deepEqual([server.heard.length, mcp.heard.length], heard, 'nothing was sent');
});

test('publishing approves the published destinations, and a copy keeps its approvals', async (t) => {
  const { owner, editor, path, agent } = await newPlace();
  const server = await startToolServer(t, (_, response) => answerJson(response, { ok: true }));
  const secrets = (await owner.call('GET', '/api/secrets')).body.data as { id: string; name: string }[];
  const id = secrets.find(({ name }) => name === 'open')?.id;
  const created = await editor.call('POST', path, tool(`${server.url}/`, bearer('open')));
  t.is((await owner.call('POST', `${agent}/publish`)).status, 200);
  await owner.call('PATCH', `/api/secrets/${id}`, { allowed_hosts: [] });
  t.is((await editor.call('POST', `${path}/${idOf(created)}/test`, {})).status, 200);
  const copy = idOf(await editor.call('POST', `${agent}/duplicate`));
  const [schema] = (await editor.call('GET', `/api/agents/${copy}/schemas`)).body.data as { id: string }[];
  t.is((await editor.call('POST', `/api/agents/${copy}/schemas/${schema?.id}/test`, {})).status, 200);
});
