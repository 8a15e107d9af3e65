import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { commandLine } from '../support/clients/command-line.js';
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
