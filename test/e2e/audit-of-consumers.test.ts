// The audit names a consumer by key only while the consumer is known, so that an erasure leaves the key in no entry.
import { randomBytes } from 'node:crypto';
import test from 'ava';
import { asOwner } from '../support/builders/triggers.js';
import type { CallResult, Json } from '../support/clients/client.js';
import { tablesWith } from '../support/database/tables-with.js';
import { startConversations } from '../support/servers/conversations.js';
import type { TenantNode } from '../support/servers/node.js';
import { sharedNode } from '../support/servers/shared-node.js';

const shared = sharedNode(test);

const marker = (): string => `planted${randomBytes(10).toString('hex')}`;

const entriesOf = async (node: TenantNode): Promise<readonly Json[]> => {
  const { json } = await asOwner(node, 'GET', '/api/v1/audit');
  return json.data.filter(({ target }: Json) => target.kind === 'consumer');
};

function acts(node: TenantNode, key: string) {
  const act = (method: string, path: string, body?: object): Promise<CallResult> =>
    asOwner(node, method, `/api/v1/consumers/${key}${path}`, body);
  return {
    deny: () => act('POST', '/deny', {}),
    allow: () => act('DELETE', '/deny'),
    forget: () => act('DELETE', '/memory'),
    erase: () => act('DELETE', ''),
  };
}

test('an erased consumer comes back into no entry, whatever is asked of the key', async (t) => {
  const node = await shared.tenant(t);
  const key = marker();
  const talk = await startConversations(node);
  await talk.say({ message: 'hello', consumer_key: key });
  const { deny, allow, forget, erase } = acts(node, key);
  t.is((await forget()).status, 200, 'a known consumer of whom nothing is remembered');
  t.is((await deny()).status, 200);
  t.true((await entriesOf(node)).every(({ target }) => target.id === key));
  t.is((await erase()).status, 200);

  t.is((await allow()).status, 200, 'a block of before the erasure can be lifted');
  t.is((await allow()).status, 200);
  t.like(await forget(), { status: 404, json: { error: 'not_found' } });
  t.is((await erase()).status, 404);
  const entries = await entriesOf(node);
  t.deepEqual(
    entries.map(({ action }) => String(action)),
    ['consumers.allow', 'consumers.allow', 'consumer.erased', 'consumers.deny', 'consumers.forget'],
  );
  const [id] = new Set(entries.map(({ target }) => target.id));
  t.regex(id, /^erased:[0-9a-f]{64}$/);
  t.true(
    entries.every(({ target }) => target.id === id),
    'all name one person',
  );
  const tables = await tablesWith(node.databaseUrl, key);
  t.deepEqual(
    tables.filter((table) => table !== 'realtime_events'),
    [],
  );
});

test('a key that was denied, allowed and never seen is in no entry', async (t) => {
  const node = await shared.tenant(t);
  const key = marker();
  const { deny, allow, forget, erase } = acts(node, key);
  t.is((await deny()).status, 200);
  t.is((await entriesOf(node))[0]?.target.id, key, 'while it is known');
  t.is((await allow()).status, 200);
  t.is((await forget()).status, 404);
  t.is((await erase()).status, 404);
  t.false((await tablesWith(node.databaseUrl, key)).includes('audit_entries'));
});

test('the entries of a block tell what it changed', async (t) => {
  const node = await shared.tenant(t);
  const key = marker();
  const talk = await startConversations(node);
  await talk.say({ message: 'hello', consumer_key: key });
  const { deny, allow } = acts(node, key);
  for (const act of [deny, deny, allow]) t.is((await act()).status, 200);
  t.deepEqual(
    (await entriesOf(node)).map(({ changes }) => changes),
    [{ blocked: { old: true, new: false } }, {}, { blocked: { old: false, new: true } }],
  );
});
