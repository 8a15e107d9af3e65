// Missing secrets of triggers: refused on saving, and reported if deleted later.
import { randomUUID } from 'node:crypto';
import test from 'ava';
import { eventually } from '../support/clocks/eventually.js';
import { sharedNode } from '../support/servers/shared-node.js';
import { answerJson, startToolServer } from '../support/servers/tool-servers.js';
import { addSecret, asOwner, createTrigger, executionOf } from '../support/builders/triggers.js';

const shared = sharedNode(test);

const absent = { byName: { secret_ref: 'nobody' }, byId: { vault_secret_id: randomUUID() } };

test('a trigger that names an unknown secret is refused with the field', async (t) => {
  const node = await shared.tenant(t);
  const url = 'https://example.com/answers';
  const places = [
    {
      at: 'trigger_config.execution.callback.auth',
      config: (secret: object) => ({
        execution: { mode: 'async', callback: { url, auth: { type: 'bearer', ...secret } } },
      }),
    },
    {
      at: 'trigger_config.channel.auth',
      config: (secret: object) => ({ channel: { type: 'twilio', auth: { type: 'basic', ...secret } } }),
    },
    {
      at: 'trigger_config.imap',
      trigger_type: 'email',
      config: (secret: object) => ({ imap: { host: 'mail.example.com', port: 993, user: 'x', ...secret } }),
    },
  ];
  const kept = await createTrigger(node, {});
  for (const { at, config, trigger_type = 'webhook' } of places) {
    for (const secret of Object.values(absent)) {
      const trigger_config = config(secret);
      const field = `${at}.${Object.keys(secret)[0]}`;
      const asked = { agent_id: node.bootstrap.agent_id, name: 'x', trigger_type, trigger_config };
      const made = await asOwner(node, 'POST', '/api/triggers', asked);
      t.is(made.status, 400, made.text);
      t.is(made.json.details.field, field);
      if (trigger_type !== 'webhook') continue;
      const changed = await asOwner(node, 'PATCH', `/api/triggers/${kept.id}`, { trigger_config });
      t.is(changed.status, 400, changed.text);
      t.is(changed.json.details.field, field);
    }
  }
  t.is((await asOwner(node, 'GET', '/api/triggers')).json.count, 1, 'none was made');
});

test('a callback whose secret was deleted fails visibly and sends nothing', async (t) => {
  const node = await shared.tenant(t);
  const receiver = await startToolServer(t, (_request, response) => answerJson(response, {}));
  await addSecret(node, 'receiver', 'token-of-the-receiver');
  const callback = { url: receiver.url, auth: { type: 'bearer', secret_ref: 'receiver' } };
  const trigger = await createTrigger(node, {
    auth: { type: 'none' },
    execution: { mode: 'async', callback },
  });
  await deleteSecret('receiver');
  const ack = await node.client.call('POST', trigger.path, { body: { message: 'once' } });
  t.is(ack.status, 202);
  await eventually(async () => {
    const execution = await executionOf(node, trigger, ack.json.execution_id);
    return execution?.delivery_status === 'delivery_failed';
  });
  t.is(receiver.heard.length, 0);
  await addSecret(node, 'receiver', 'token-of-the-receiver');
  const failed = await asOwner(node, 'GET', '/api/v1/deliveries?status=dead');
  await asOwner(node, 'POST', `/api/v1/deliveries/${failed.json.data[0].id}/replay`);
  await eventually(() => receiver.heard.length === 1, { what: 'the replay with the secret that is back' });
  t.is(receiver.heard[0]?.headers['authorization'], 'Bearer token-of-the-receiver');

  async function deleteSecret(name: string): Promise<void> {
    const secrets = (await asOwner(node, 'GET', '/api/secrets')).json.data as {
      id: string;
      name: string;
    }[];
    const id = secrets.find((one) => one.name === name)?.id;
    t.is((await asOwner(node, 'DELETE', `/api/secrets/${id}?force=true`)).status, 200);
  }
});
