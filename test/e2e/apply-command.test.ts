import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { commandLine } from '../support/clients/command-line.js';
import { atTerminal, ctrlC } from '../support/clients/terminal.js';
import { eventually } from '../support/clocks/eventually.js';
import { runProgram } from '../support/servers/program.js';
import { sharedNode } from '../support/servers/shared-node.js';

const shared = sharedNode(test);

const file = `
secrets:
  - { name: crm_token, kind: bearer, from_env: CRM_TOKEN }
  - { name: orders_password, from_env: ORDERS_PASSWORD }
databases:
  - name: orders
    connection_config: { host: db.example.com, database: shop, username: reader, password_secret_ref: orders_password }
    settings: { allowed_tables: [public.orders] }
agents:
  - name: support
    llm_config: { model: sim.tools, system_prompt: You help. }
    tools:
      - name: find_order
        type: api
        parameters: { type: object, properties: { number: { type: string } } }
        editor_schema:
          api: { method: GET, url: 'http://127.0.0.1:9/orders', auth: { type: bearer, secret_ref: crm_token } }
      - name: ask_expert
        type: agent
        editor_schema: { agent: { agent: expert } }
    triggers:
      - name: incoming
        trigger_type: webhook
        trigger_config: { query_extraction: { mode: field, field: text } }
      - name: new-order
        trigger_type: db_event
        enabled: false
        trigger_config:
          { database: orders, table: public.orders, events: [insert], cursor_column: id, message_template: 'Order {{id}}' }
  - name: expert
    llm_config: { model: sim.echo }
`;

const values = { CRM_TOKEN: 'token-of-the-crm', ORDERS_PASSWORD: 'password-of-orders' };

test('apply brings a tenant to its file, changes what differs, and then finds nothing to do', async (t) => {
  t.timeout(300_000);
  const node = await shared.tenant(t);
  const troupe = await commandLine(t, node, values);
  const path = join(troupe.folder, 'agents.yaml');
  await writeFile(path, file);
  const plan = await troupe.run(['apply', '-f', path, '--plan'], { code: 3 });
  t.regex(plan, /^\+ create agent support$/m);
  t.false(plan.includes(values.CRM_TOKEN), 'a plan shows no value of a secret');
  const { json: before } = await node.client.call('GET', '/api/triggers', { key: node.bootstrap.api_key });
  t.is(before.count, 0, 'a plan changes nothing');
  t.regex(await troupe.run(['apply', '-f', path], { code: 2 }), /--yes/);
  const environment = {
    ...values,
    TROUPE_BASE_URL: node.client.baseUrl,
    TROUPE_API_KEY: node.bootstrap.api_key,
  };
  const asked = () => atTerminal(t, ['apply', '-f', path], environment);
  const [interrupted, left] = [asked(), asked()];
  await Promise.all([interrupted.shows('Apply? [y/N]'), left.shows('Apply? [y/N]')]);
  interrupted.type(ctrlC);
  t.is(await interrupted.ended, 130, interrupted.output());
  t.notRegex(interrupted.output(), /troupe apply:/);
  left.endInput();
  t.is(await left.ended, 0, left.output());

  const applied = await troupe.run(['apply', '-f', path, '--yes']);
  t.regex(applied, /webhook_secret, shown once: whsec_/);
  t.false(applied.includes(values.CRM_TOKEN));
  t.is(await troupe.run(['apply', '-f', path, '--plan']), 'Nothing changes.\n');
  t.is(await troupe.run(['chat', 'expert', 'hello', '-q']), 'echo: hello\n');
  await troupe.run(['apply', '-f', path, '--yes', '--rotate-secrets']);
  const { token, tenant } = { token: node.bootstrap.access_token, tenant: node.bootstrap.tenant_id };
  const { json: rotated } = await node.client.call('GET', '/api/secrets', { token, tenant });
  t.deepEqual(
    rotated.data.map(({ name, version }: { name: string; version: number }) => [name, version]),
    [
      ['crm_token', 2],
      ['orders_password', 2],
    ],
  );

  const changed = file
    .replace('You help.', 'You help kindly.')
    .replace(/ {6}- name: ask_expert\n.*\n.*\n/, '')
    .replace('field: text', 'field: body');
  await writeFile(path, changed);
  t.deepEqual((await troupe.run(['apply', '-f', path, '--plan', '--prune'], { code: 3 })).split('\n'), [
    '~ update agent support',
    '    llm_config.system_prompt: "You help." → "You help kindly."',
    '- delete tool support/ask_expert',
    '↑ publish agent support',
    '~ update trigger support/incoming',
    '    trigger_config.query_extraction.field: "text" → "body"',
    '',
  ]);
  t.false((await troupe.run(['apply', '-f', path, '--plan'], { code: 3 })).includes('delete'));
  await troupe.run(['apply', '-f', path, '--yes', '--prune']);
  t.is(await troupe.run(['apply', '-f', path, '--plan', '--prune']), 'Nothing changes.\n');

  const callback = "execution: { callback: { url: 'https://receiver.example/orders' } }";
  await writeFile(path, changed.replace("'Order {{id}}' }", `'Order {{id}}', ${callback} }`));
  const signing = await troupe.run(['apply', '-f', path, '--yes']);
  t.regex(signing, /^new-order\n {2}webhook_secret, shown once: whsec_/m);
});

test('apply leaves a trigger disabled and an agent unpublished where the file does not say', async (t) => {
  t.timeout(300_000);
  const node = await shared.tenant(t);
  const troupe = await commandLine(t, node, values);
  const path = join(troupe.folder, 'agents.yaml');
  await writeFile(path, file);
  await troupe.run(['apply', '-f', path, '--yes']);
  const { access_token: token, tenant_id: tenant } = node.bootstrap;
  const call = (method: string, address: string) => node.client.call(method, address, { token, tenant });
  const idOf = async (address: string, name: string): Promise<string> =>
    (await call('GET', address)).json.data.find((one: { name: string }) => one.name === name).id;
  await call('POST', `/api/triggers/${await idOf('/api/triggers', 'incoming')}/disable`);
  const expert = await idOf('/api/agents', 'expert');
  t.is((await call('POST', `/api/agents/${expert}/unpublish`)).status, 200);
  t.is(await troupe.run(['apply', '-f', path, '--plan']), 'Nothing changes.\n');
  await writeFile(path, file.replace('model: sim.echo', 'model: sim.echo, temperature: 0.5'));
  t.regex(await troupe.run(['apply', '-f', path, '--yes']), /^done {2}update agent expert$/m);
  t.is((await call('GET', `/api/agents/${expert}`)).json.data.status, 'draft');

  const declared = file.replace('trigger_type: webhook', 'trigger_type: webhook\n        enabled: true');
  await writeFile(path, declared.replace('  - name: expert', '  - name: expert\n    published: true'));
  const asked = await troupe.run(['apply', '-f', path, '--plan'], { code: 3 });
  t.regex(asked, /enabled: false → true/);
  t.regex(asked, /^↑ publish agent expert$/m);
});

test('apply keeps the kind of a secret that the file does not name, and refuses another', async (t) => {
  t.timeout(300_000);
  const node = await shared.tenant(t);
  const troupe = await commandLine(t, node, values);
  const path = join(troupe.folder, 'agents.yaml');
  await writeFile(path, file);
  await troupe.run(['apply', '-f', path, '--yes']);
  await writeFile(path, file.replace('kind: bearer, ', ''));
  t.is(await troupe.run(['apply', '-f', path, '--plan']), 'Nothing changes.\n');
  await writeFile(path, file.replace('kind: bearer', 'kind: llm_key, provider: openai'));
  const kind = await troupe.run(['apply', '-f', path, '--yes'], { code: 1 });
  t.regex(kind, /The secret crm_token: kind cannot be changed from "bearer" to "llm_key"\./);
  t.regex(kind, /The secret crm_token: provider cannot be changed from null to "openai"\./);
  await writeFile(path, file.replace('trigger_type: webhook', 'trigger_type: email'));
  const type = await troupe.run(['apply', '-f', path, '--yes'], { code: 1 });
  t.regex(type, /support\/incoming: trigger_type cannot be changed from "webhook" to "email"\./);
  t.notRegex(type, /^done/m);
});

test('an export holds names in place of ids, no value of a secret, and makes the same tenant elsewhere', async (t) => {
  t.timeout(300_000);
  const [first, second] = [await shared.tenant(t), await shared.tenant(t)];
  const [from, to] = [await commandLine(t, first, values), await commandLine(t, second, values)];
  const path = join(from.folder, 'agents.yaml');
  await writeFile(path, file);
  await from.run(['apply', '-f', path, '--yes']);
  const exported = join(from.folder, 'exported.yaml');
  await from.run(['export', 'support', 'expert', '-o', exported]);
  const text = await readFile(exported, 'utf8');
  t.notRegex(text, /[0-9a-f]{8}-[0-9a-f]{4}-/, 'no id');
  for (const value of Object.values(values)) t.false(text.includes(value));
  t.is(await from.run(['apply', '-f', exported, '--plan']), 'Nothing changes.\n');
  t.regex(await to.run(['apply', '-f', exported, '--yes'], { code: 1 }), /crm_token is not in the vault/);
  await to.run(['apply', '-f', path, '--yes']);
  t.is(await to.run(['apply', '-f', exported, '--plan']), 'Nothing changes.\n');
});

test('the example of the guide is a file that applies', async (t) => {
  t.timeout(240_000);
  const node = await shared.tenant(t);
  const troupe = await commandLine(t, node, values);
  const guide = await readFile('docs/guides/declare-agents-in-files.md', 'utf8');
  const [, example = ''] = /```yaml\n([^]*?)```/.exec(guide) ?? [];
  const path = join(troupe.folder, 'agents.yaml');
  await writeFile(path, example);
  await troupe.run(['apply', '-f', path, '--yes']);
  t.is(await troupe.run(['apply', '-f', path, '--plan']), 'Nothing changes.\n');
});

const twoHooks = (second: string): string => `
agents:
  - name: support
    llm_config: { model: sim.echo }
    triggers:
      - { name: first, trigger_type: webhook }
      - { name: second, trigger_type: webhook, trigger_config: ${second} }
`;

test('a step that fails leaves the secrets of what was made before it on the screen', async (t) => {
  t.timeout(240_000);
  for (const words of [[], ['--json']]) {
    const node = await shared.tenant(t);
    const troupe = await commandLine(t, node);
    const path = join(troupe.folder, 'hooks.yaml');
    await writeFile(path, twoHooks('{ query_extraction: { mode: nonsense } }'));
    const failed = await troupe.run(['apply', '-f', path, '--yes', ...words], { code: 1 });
    t.regex(failed, /create trigger support\/second: /);
    const [secret = ''] = /whsec_[\w+/=]+/.exec(failed) ?? [];
    const id = /triggers\/webhook\/([0-9a-f-]{36})/.exec(failed)?.[1] ?? '';
    const sent = await commandLine(t, node, { TROUPE_WEBHOOK_SECRET: secret });
    t.regex(await sent.run(['webhooks', 'send', id, '--data', '{"message": "ping"}']), /echo: ping/);
    if (words.length > 0) {
      t.like(JSON.parse(failed.split('\n').find((line) => line.startsWith('{')) ?? ''), {
        changes: ['create agent support', 'publish agent support', 'create trigger support/first'],
        webhooks: [{ name: 'first', secret }],
      });
    }
    await writeFile(path, twoHooks('{}'));
    const goneOn = await troupe.run(['apply', '-f', path, '--yes', '--json']);
    t.like(JSON.parse(goneOn), { changes: ['create trigger support/second'] });
    t.is(await troupe.run(['apply', '-f', path, '--yes', '--json']), '{"changes":[],"webhooks":[]}\n');
  }
});

test('Ctrl-C ends an application after the step that is being taken, and says what was done', async (t) => {
  t.timeout(240_000);
  const posted: string[] = [];
  let answer = (): void => undefined;
  const platform = createServer((request, response) => {
    response.setHeader('content-type', 'application/json');
    request.resume();
    if (request.method === 'GET') response.end('{"data": []}');
    else if (request.url === '/api/auth/token')
      response.end('{"data": {"access_token": "a-token", "expires_in": 900}}');
    else {
      posted.push(request.url ?? '');
      answer = () => void response.end('{"data": {"id": "an-agent"}}');
    }
  });
  await new Promise<void>((resolve) => platform.listen(0, '127.0.0.1', resolve));
  t.teardown(() => void platform.close());
  const folder = await mkdtemp(join(tmpdir(), 'troupe-apply-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, 'agents.yaml');
  await writeFile(path, 'agents: [{ name: one }, { name: two }]');
  const apply = runProgram('bin/troupe.mjs', ['apply', '-f', path, '--yes', '--json'], {
    TROUPE_BASE_URL: `http://127.0.0.1:${(platform.address() as AddressInfo).port}`,
    TROUPE_API_KEY: 'svc_test_x',
  });
  t.teardown(() => void apply.process.kill('SIGKILL'));
  await eventually(() => posted.length > 0, { timeoutMs: 60_000 });
  apply.process.kill('SIGINT');
  await eventually(() => apply.output().includes('Ends after this step'), { timeoutMs: 60_000 });
  answer();
  t.is(await apply.ended, 130, apply.output());
  t.deepEqual(posted, ['/api/agents']);
  t.true(apply.output().includes('{"changes":["create agent one"],"webhooks":[]}'), apply.output());
});

test('what is wrong with a file is said before anything changes', async (t) => {
  t.timeout(240_000);
  const node = await shared.tenant(t);
  const troupe = await commandLine(t, node);
  const path = join(troupe.folder, 'agents.yaml');
  const refused = async (text: string): Promise<string> => {
    await writeFile(path, text);
    return troupe.run(['apply', '-f', path, '--yes'], { code: 1 });
  };
  t.regex(await refused('agent: []'), /there is no field agent\. Did you mean "agents"\?/);
  t.regex(await refused('agents: [a'), /line 1/);
  t.regex(await refused('agents: [{name: a}, {name: a}]'), /a is declared twice/);
  t.regex(await refused(file), /CRM_TOKEN/);
  const tool = '{name: x, type: agent, editor_schema: {agent: {agent: nobody}}}';
  t.regex(await refused(`agents: [{name: a, tools: [${tool}]}]`), /a\/x names the agent nobody/);
  t.regex(await troupe.run(['apply', '-f', join(troupe.folder, 'none')], { code: 1 }), /cannot be read/);
  const { json } = await node.client.call('GET', '/api/secrets', {
    token: node.bootstrap.access_token,
    tenant: node.bootstrap.tenant_id,
  });
  t.is(json.count, 0);
});
