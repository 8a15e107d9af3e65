import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { eventually } from '../support/clocks/eventually.js';
import { eras, structured } from '../support/clients/mcp.js';
import { pipedClient } from '../support/clients/mcp-stdio.js';
import { freePort } from '../support/servers/free-port.js';
import { startTestNode, type TestNode } from '../support/servers/node.js';
import { createDatabase } from '../support/database/database.js';

const undo: (() => Promise<void>)[] = [];
const atEnd = { teardown: (step: () => Promise<void>) => void undo.push(step) };
const root = fileURLToPath(new URL('../../../', import.meta.url));
let node: TestNode;

test.before(async () => {
  node = await startTestNode(atEnd, { environment: { TROUPE_SIM: 'on' } });
});

test.after.always(async () => {
  for (const step of undo.toReversed()) await step();
});

function settings(more: Readonly<Record<string, string>> = {}): Record<string, string> {
  return { TROUPE_API_KEY: node.bootstrap.api_key, TROUPE_BASE_URL: node.node.baseUrl, ...more };
}

async function memberKey(): Promise<string> {
  const { access_token: token, tenant_id: tenant } = node.bootstrap;
  const body = { name: 'key of a member', role: 'member' };
  return (await node.client.call('POST', '/api/keys', { token, tenant, body })).json.data.api_key;
}

for (const era of eras) {
  test.serial(`a client over pipes sees and calls the same tools (${era} revision)`, async (t) => {
    const { client } = await pipedClient(t, settings(), { era });
    t.is((await client.listTools()).tools.length, 96);
    t.is((await client.listResources()).resources.length, 19);
    const made = await client.callTool({
      name: 'create_agent',
      arguments: { name: `writer-${era}`, llm_config: { model: 'sim.lorem-10-100' } },
    });
    const { id } = structured(made)['data'] as { id: string };
    const messages: string[] = [];
    const chat = await client.callTool(
      { name: 'chat_with_agent', arguments: { agent_id: id, message: 'hello' } },
      { onprogress: ({ message }) => void messages.push(message ?? '') },
    );
    t.like(structured(chat), { outcome: 'COMPLETED' });
    t.true(messages.length > 1);
  });

  test.serial(`a change of a row reaches a client over pipes (${era} revision)`, async (t) => {
    const { client } = await pipedClient(t, settings(), { era });
    const made = await client.callTool({ name: 'create_agent', arguments: { name: `piped-${era}` } });
    const { id } = structured(made)['data'] as { id: string };
    const uri = `platform://agents/${id}`;
    const updates: string[] = [];
    client.setNotificationHandler(
      'notifications/resources/updated',
      ({ params }) => void updates.push(params.uri),
    );
    if (era === 'modern') await client.listen({ resourceSubscriptions: [uri] });
    else await client.subscribeResource({ uri });
    // An earlier revision does not confirm an open stream, so the change is repeated until it arrives.
    await eventually(async () => {
      await client.callTool({ name: 'publish_agent', arguments: { agent_id: id } });
      return updates.includes(uri);
    });
    t.deepEqual([...new Set(updates)], [uri]);
  });
}

test.serial('the role setting lowers the rights and never raises them', async (t) => {
  const lowered = await pipedClient(t, settings({ TROUPE_ROLE: 'member' }));
  t.is((await lowered.client.listTools()).tools.length, 5);
  const member = await pipedClient(t, settings({ TROUPE_ROLE: 'admin', TROUPE_API_KEY: await memberKey() }));
  t.is((await member.client.listTools()).tools.length, 5);
  for (const flag of [['--read-only', 'on'], ['--readonly'], ['--read-only=on']]) {
    const narrowed = await pipedClient(t, settings(), { words: [...flag, '--toolsets', 'llm'] });
    t.deepEqual(
      (await narrowed.client.listTools()).tools.map(({ name }) => name),
      ['list_models', 'get_quota'],
      flag.join(' '),
    );
  }
});

test.serial('a server that restarts is found again by the same program', async (t) => {
  const { url: databaseUrl } = await createDatabase(t);
  const port = String(await freePort());
  const environment = { TROUPE_SIM: 'on', TROUPE_HTTP_PORT: port };
  const first = await startTestNode(t, { databaseUrl, environment });
  const { client } = await pipedClient(t, {
    TROUPE_API_KEY: first.bootstrap.api_key,
    TROUPE_BASE_URL: `http://127.0.0.1:${port}`,
  });
  t.is((await client.listTools()).tools.length, 96);
  await first.stop();
  const during = client.callTool({ name: 'get_quota', arguments: {} });
  await startTestNode(t, { databaseUrl, environment, dataDir: first.dataDir });
  t.falsy((await during).isError);
});

test.serial('the program ends with its client, and writes nothing but the protocol', async (t) => {
  const child = spawn(process.execPath, [`${root}bin/troupe.mjs`, 'mcp'], {
    env: { PATH: process.env['PATH'] ?? '', ...settings() },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let output = '';
  child.stdout.on('data', (data) => (output += String(data)));
  child.stdin.write('this is no JSON\n');
  child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })}\n`);
  await eventually(() => output.split('\n').length > 2);
  const lines = output
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  t.true(lines.every(({ jsonrpc }) => jsonrpc === '2.0'));
  t.like(lines[0], { id: null, error: { code: -32_700 } });
  child.stdin.end();
  const code = await new Promise((resolve) => child.once('exit', resolve));
  t.is(code, 0);
});

test.serial('the program answers within 300 ms of its start', async (t) => {
  const started = async (): Promise<number> => {
    const startedMs = performance.now();
    const child = spawn(process.execPath, [`${root}bin/troupe.mjs`, 'mcp'], {
      env: { PATH: process.env['PATH'] ?? '', ...settings() },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    child.stdin.end('this is no JSON\n');
    await once(child.stdout, 'data');
    const tookMs = performance.now() - startedMs;
    if (child.exitCode === null) await once(child, 'exit');
    return tookMs;
  };
  const bare = async (): Promise<number> => {
    const startedMs = performance.now();
    await once(spawn(process.execPath, ['--eval', '0']), 'exit');
    return performance.now() - startedMs;
  };
  // On a machine whose cores have other work, even an empty program takes longer: it may take as long as two of them.
  const takes: { readonly own: number; readonly empty: number }[] = [];
  await eventually(async () => {
    takes.push({ empty: await bare(), own: await started() });
    return takes.some(({ own, empty }) => own < Math.max(300, 2 * empty));
  });
  t.true(takes.length > 0);
});

test.serial('without a key the program says what is missing', async (t) => {
  const child = spawn(process.execPath, [`${root}bin/troupe.mjs`, 'mcp'], {
    env: { PATH: process.env['PATH'] ?? '' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let errors = '';
  child.stderr.on('data', (data) => (errors += String(data)));
  t.is(await new Promise((resolve) => child.once('close', resolve)), 2);
  t.regex(errors, /TROUPE_API_KEY is not set/);
});
