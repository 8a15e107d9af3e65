// Where secrets may be sent: what an editor may write, and what is sent for an editor.
import test from 'ava';
import { type AgentsBench, dataOf, idOf, type Person, startAgents } from '../../support/agents.js';
import { databaseOfFile } from '../../support/database.js';
import { answerJson, startMcpServer, startToolServer } from '../../support/tool-servers.js';

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

test('an editor sends a secret only to hosts in its list, wherever in the tool the secret stands', async (t) => {
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

test('what an owner wrote stays approved when an editor changes the rest, and no longer when the host changes', async (t) => {
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

test('a host that is taken out of the list is not served for an editor any more', async (t) => {
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

test('publishing approves what is published, and a copy keeps the approvals of what it copies', async (t) => {
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
