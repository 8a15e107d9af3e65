import { execFileSync } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import test from 'ava';
import { commandLine } from '../support/clients/command-line.js';
import { eventually } from '../support/clocks/eventually.js';
import { operatorToken, startTestNode } from '../support/servers/node.js';
import { runProgram } from '../support/servers/program.js';
import { sharedNode } from '../support/servers/shared-node.js';

const shared = sharedNode(test);

/** The only line of JSON of an output. */
function first(output: string): Record<string, string | boolean> {
  return JSON.parse(output.split('\n')[0] ?? '') as Record<string, string | boolean>;
}

test('sessions and executions are listed, shown, taken over and followed', async (t) => {
  t.timeout(300_000);
  const node = await shared.tenant(t);
  const troupe = await commandLine(t, node);
  await troupe.run(['chat', node.bootstrap.agent_id, 'hello']);
  const session = String(first(await troupe.run(['sessions', 'list', '--json']))['session_id']);
  t.regex(await troupe.run(['sessions', 'messages', session]), /echo: hello/);
  for (const seconds of ['10m', '0', '1.5', '']) {
    const handoff = ['sessions', 'handoff', session, '--seconds', seconds];
    t.regex(await troupe.run(handoff, { code: 2 }), /--seconds must be a whole number/);
  }
  await troupe.run(['sessions', 'handoff', session, '--reason', 'look', '--seconds', '600']);
  t.is(first(await troupe.run(['sessions', 'show', session, '--json']))['control_mode'], 'manual_handoff');
  await troupe.run(['sessions', 'resume', session]);
  t.regex(await troupe.run(['sessions', 'erase', session], { code: 2 }), /--yes/);
  const listed = await troupe.run(['executions', 'list', '--session', session, '--json']);
  const id = String(first(listed)['id']);
  t.is(first(await troupe.run(['executions', 'show', id, '--json']))['status'], 'completed');
  const events = (await troupe.run(['executions', 'follow', id])).trim().split('\n');
  t.is(first(events.at(-1) ?? '')['type'], 'done');
  await troupe.run(['sessions', 'erase', session, '--yes']);
  t.regex(await troupe.run(['sessions', 'show', session], { code: 1 }), /not_found/);
  t.regex(await troupe.run(['sessions', 'lst'], { code: 2 }), /Did you mean "list"\?/);
});

test('a trigger is tried, run and switched by name, and a webhook is sent with its signature', async (t) => {
  t.timeout(300_000);
  const node = await shared.tenant(t);
  const { access_token: token, tenant_id: tenant, agent_id } = node.bootstrap;
  const body = { agent_id, name: 'incoming', trigger_type: 'webhook', trigger_config: {} };
  const { json } = await node.client.call('POST', '/api/triggers', { token, tenant, body });
  const secret = String(json.data.webhook_secret);
  const troupe = await commandLine(t, node, { TROUPE_WEBHOOK_SECRET: secret });
  const data = ['--data', '{"message": "ping"}'];
  t.regex(await troupe.run(['triggers', 'test', 'incoming', ...data]), /"would_run": true/);
  t.regex(await troupe.run(['webhooks', 'send', 'incoming', ...data]), /echo: ping/);
  // With the secret and the id, no key is needed.
  const outside = runProgram('bin/troupe.mjs', ['webhooks', 'send', json.data.id, ...data, '--sha512'], {
    TROUPE_BASE_URL: node.client.baseUrl,
    TROUPE_WEBHOOK_SECRET: secret,
    XDG_CONFIG_HOME: troupe.folder,
    TROUPE_DATA_DIR: troupe.folder,
  });
  t.is(await outside.ended, 0, outside.output());
  const unsigned = await commandLine(t, node);
  const refused = await unsigned.run(['webhooks', 'send', 'incoming', ...data], { code: 1 });
  t.regex(refused, /invalid_signature/);
  t.regex(refused, /Set TROUPE_WEBHOOK_SECRET/);
  const ran = (await troupe.run(['triggers', 'executions', 'incoming', '--json'])).trim().split('\n');
  t.is(ran.length, 2);
  await troupe.run(['triggers', 'disable', 'incoming']);
  t.is(first(await troupe.run(['triggers', 'list', '--json']))['enabled'], false);
});

test('what login keeps is used at its own address alone', async (t) => {
  t.timeout(300_000);
  const node = await shared.tenant(t);
  const received: string[] = [];
  const other = createServer((request, response) => {
    received.push(`${request.method} ${request.url} ${JSON.stringify(request.headers)}`);
    response.setHeader('content-type', 'application/json').end('{"data": []}');
  });
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  t.teardown(() => void other.close());
  const url = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
  const troupe = await commandLine(t, node);
  t.like(first(await troupe.run(['login', '--json'])), { profile: 'default', url: node.client.baseUrl });
  t.is(await troupe.signedIn(['sessions', 'list', '--json']), '');
  const elsewhere = { XDG_CONFIG_HOME: troupe.folder, TROUPE_DATA_DIR: troupe.folder, TROUPE_BASE_URL: url };
  const list = runProgram('bin/troupe.mjs', ['sessions', 'list'], elsewhere);
  t.is(await list.ended, 1);
  t.true(
    list.output().includes(`belongs to ${node.client.baseUrl} and is not sent to ${url}`),
    list.output(),
  );
  // A variable beside TROUPE_BASE_URL belongs to that address, and --url names another one.
  t.regex(await troupe.run(['login', '--url', url], { code: 2 }), /TROUPE_API_KEY belongs to /);
  t.deepEqual(received, []);
  // What needs no credential needs none of that address.
  const words = ['webhooks', 'send', '00000000-0000-4000-8000-000000000000', '--data', '{}'];
  const send = runProgram('bin/troupe.mjs', words, { ...elsewhere, TROUPE_WEBHOOK_SECRET: 'whsec_x' });
  t.is(await send.ended, 0, send.output());
  t.is(received.length, 1);
  t.false(received.some((one) => one.includes(node.bootstrap.api_key)));
  t.deepEqual(first(await troupe.signedIn(['logout', '--json'])), { forgotten: 'default' });
  t.regex(await troupe.signedIn(['sessions', 'list'], { code: 1 }), /An API key is missing/);
});

test('the first Ctrl-C ends a command that waits for an answer', async (t) => {
  t.timeout(240_000);
  let isAsked = false;
  const silent = createServer(() => (isAsked = true));
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  t.teardown(() => void silent.close());
  const list = runProgram('bin/troupe.mjs', ['sessions', 'list'], {
    TROUPE_BASE_URL: `http://127.0.0.1:${(silent.address() as AddressInfo).port}`,
    TROUPE_API_KEY: 'svc_test_x',
  });
  t.teardown(() => void list.process.kill('SIGKILL'));
  await eventually(() => isAsked, { timeoutMs: 60_000 });
  list.process.kill('SIGINT');
  const code = await Promise.race([list.ended, eventually(() => undefined, { timeoutMs: 30_000 })]);
  t.is(code, 130, list.output());
});

test('a reader that has seen enough ends a command without a message', async (t) => {
  t.timeout(300_000);
  const node = await shared.tenant(t);
  const troupe = await commandLine(t, node);
  await troupe.run(['chat', node.bootstrap.agent_id, 'hello']);
  const list = runProgram('bin/troupe.mjs', ['sessions', 'list'], {
    TROUPE_BASE_URL: node.client.baseUrl,
    TROUPE_API_KEY: node.bootstrap.api_key,
    XDG_CONFIG_HOME: troupe.folder,
  });
  list.process.stdout?.destroy();
  t.is(await list.ended, 0, list.output());
  t.is(list.output(), '');
});

test('logs are followed: calls that end later are printed too, each once', async (t) => {
  t.timeout(300_000);
  const node = await shared.tenant(t);
  const troupe = await commandLine(t, node);
  await troupe.run(['chat', node.bootstrap.agent_id, 'before']);
  const logs = runProgram('bin/troupe.mjs', ['logs', '--follow', '--json'], {
    TROUPE_BASE_URL: node.client.baseUrl,
    TROUPE_API_KEY: node.bootstrap.api_key,
    XDG_CONFIG_HOME: troupe.folder,
  });
  const seen = (): string[] =>
    [...logs.output().matchAll(/"output_preview":"([^"]*)"/g)].map(([, text = '']) => text);
  await eventually(() => seen().length > 0, { timeoutMs: 60_000 });
  await troupe.run(['chat', node.bootstrap.agent_id, 'after']);
  await eventually(() => seen().includes('echo: after'), { timeoutMs: 60_000 });
  logs.process.kill('SIGINT');
  t.is(await logs.ended, 130, logs.output());
  t.deepEqual(seen(), ['echo: before', 'echo: after']);
});

test('logs --follow prints every call of a burst, and none of those before that it was not asked for', async (t) => {
  t.timeout(240_000);
  const calls: object[] = [];
  const add = (count: number): void => {
    for (let left = count; left > 0; left -= 1) {
      const timestamp = new Date(Date.UTC(2026, 0, 1) + calls.length).toISOString();
      calls.unshift({ id: `call-${calls.length}`, timestamp });
    }
  };
  add(150);
  const platform = createServer((request, response) => {
    const query = new URL(request.url ?? '', 'http://platform.test').searchParams;
    const [limit, page] = [Number(query.get('limit')), Number(query.get('page') ?? 1)];
    const data = calls.slice(limit * (page - 1), limit * page);
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ data }));
  });
  await new Promise<void>((resolve) => platform.listen(0, '127.0.0.1', resolve));
  t.teardown(() => void platform.close());
  const logs = runProgram('bin/troupe.mjs', ['logs', '--follow', '--limit', '2', '--json'], {
    TROUPE_BASE_URL: `http://127.0.0.1:${(platform.address() as AddressInfo).port}`,
    TROUPE_API_KEY: 'svc_test_x',
  });
  t.teardown(() => void logs.process.kill('SIGKILL'));
  const ids = (): string[] => [...logs.output().matchAll(/"id":"([^"]*)"/g)].map(([, id = '']) => id);
  await eventually(() => ids().length > 0, { timeoutMs: 60_000 });
  add(250);
  await eventually(() => ids().includes('call-399'), { timeoutMs: 60_000 });
  t.deepEqual(
    ids(),
    Array.from({ length: 252 }, (_, at) => `call-${148 + at}`),
  );
});

test('top shows nodes, tenants and rates to the operator alone', async (t) => {
  t.timeout(300_000);
  // Of its own: it counts all tenants.
  const node = await startTestNode(t);
  const troupe = await commandLine(t, node, { TROUPE_OPERATOR_TOKEN: operatorToken });
  const table = await troupe.run(['top', '--once', '--interval', '0.2']);
  t.regex(table, /^node .*turns\/s +late ms$/m);
  t.regex(table, /^test-node-\S+ +\d+\.\d+\.\d+\S* +member +262144 /m);
  t.regex(table, /^Demo /m);
  const figures = JSON.parse(await troupe.run(['top', '--once', '--json', '--interval', '0.2'])) as {
    nodes: { lateness_ms: number; turns_per_second: number }[];
    tenants: { name: string }[];
  };
  t.is(typeof figures.nodes[0]?.lateness_ms, 'number');
  t.is(figures.tenants[0]?.name, 'Demo');
  const bare = await commandLine(t, node);
  t.regex(await bare.run(['top', '--once'], { code: 1 }), /TROUPE_OPERATOR_TOKEN/);
});

test('top goes on while no node answers, and says so', async (t) => {
  t.timeout(240_000);
  let isAway = false;
  const node = { process: 'one', standing: 'member', slots: 1, residents: 0, counts: {}, mailboxes: {} };
  const answers: Readonly<Record<string, string>> = {
    '/api/v1/cluster': JSON.stringify({ data: { process: 'one', nodes: [node] } }),
    '/metrics': '',
  };
  const platform = createServer((request, response) => {
    if (isAway) request.destroy();
    else
      response
        .setHeader('content-type', 'application/json')
        .end(answers[request.url ?? ''] ?? '{"data": []}');
  });
  await new Promise<void>((resolve) => platform.listen(0, '127.0.0.1', resolve));
  t.teardown(() => void platform.close());
  const top = runProgram('bin/troupe.mjs', ['top', '--json', '--interval', '0.2'], {
    TROUPE_BASE_URL: `http://127.0.0.1:${(platform.address() as AddressInfo).port}`,
    TROUPE_OPERATOR_TOKEN: operatorToken,
  });
  t.teardown(() => void top.process.kill('SIGKILL'));
  const looks = (): { nodes: unknown[]; problems: string[] }[] =>
    top
      .output()
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line));
  await eventually(() => looks().length > 0, { timeoutMs: 60_000 });
  isAway = true;
  await eventually(() => looks().some(({ problems }) => problems.length > 0), { timeoutMs: 60_000 });
  isAway = false;
  await eventually(() => looks().at(-1)?.nodes.length === 1, { timeoutMs: 60_000 });
  top.process.kill('SIGINT');
  t.is(await top.ended, 130, top.output());
});

test('every command has help, and the completions are scripts that their shells accept', async (t) => {
  t.timeout(300_000);
  const node = await shared.tenant(t);
  const troupe = await commandLine(t, node);
  const usage = await troupe.run(['--help']);
  const names = [...usage.matchAll(/^ {2}troupe (\w+)/gm)].map(([, name = '']) => name);
  t.true(names.length >= 24, names.join(' '));
  for (const name of ['login', 'chat', 'apply', 'export', 'sessions', 'logs', 'top', 'completion'])
    t.regex(await troupe.run([name, '--help']), new RegExp(`^Usage: troupe ${name}`));
  t.regex(await troupe.run(['--version']), /^\d+\.\d+\.\d+(?:-\w+)?\n$/);
  const bash = await troupe.run(['completion', 'bash']);
  for (const name of names) t.true(bash.includes(name), name);
  const asked = `${bash}\nCOMP_WORDS=(troupe sessions mess); COMP_CWORD=2; _troupe; echo "\${COMPREPLY[@]}"`;
  t.is(execFileSync('bash', ['-c', asked], { encoding: 'utf8' }), 'messages\n');
  t.regex(await troupe.run(['completion', 'zsh']), /^#compdef troupe/);
  t.regex(await troupe.run(['completion', 'fish']), /-a sessions/);
  t.regex(await troupe.run(['completion', 'bsh'], { code: 2 }), /Did you mean "bash"\?/);
});
