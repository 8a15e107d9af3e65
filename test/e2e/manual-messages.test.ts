import test from 'ava';
import pg from 'pg';
import { z } from 'zod';
import { tenantScope } from '../../src/context/tenant-scope.js';
import { openStore, sql } from '../../src/storage/index.js';
import { eventually } from '../support/eventually.js';
import { startTestNode } from '../support/node.js';
import { answerJson, startToolServer } from '../support/tool-servers.js';
import { asOwner, createTrigger, executionsOf, sendSigned } from '../support/triggers.js';

test('a message of a person, and the event that tells of it, are written together or not at all', async (t) => {
  const receiver = await startToolServer(t, (_request, response) => answerJson(response, {}));
  const node = await startTestNode(t);
  const trigger = await createTrigger(node, {
    session_strategy: { mode: 'derive', fields: ['from'] },
    execution: { mode: 'async', callback: { url: receiver.url } },
  });
  await sendSigned(node, trigger, { message: 'hi', from: 'ada' });
  const { session_id } = await eventually(async () =>
    (await executionsOf(node, trigger)).find((one) => one.delivery_status === 'delivered'),
  );
  await asOwner(node, 'POST', `/api/v1/sessions/${session_id}/handoff`);
  const store = new pg.Client({ connectionString: node.databaseUrl });
  await store.connect();
  t.teardown(() => store.end());
  const write = () =>
    node.client.call('POST', `/api/v1/sessions/${session_id}/manual-message`, {
      key: node.bootstrap.api_key,
      body: { message: 'a person here' },
      headers: { 'idempotency-key': 'k1' },
    });
  const messages = async () => {
    const { json } = await asOwner(node, 'GET', `/api/v1/sessions/${session_id}/messages`);
    return json.data.filter(({ content }: { content: string }) => content === 'a person here');
  };
  // The event cannot be written: the message that it tells of is not there either.
  await store.query(
    `alter table realtime_events add constraint closed check (type <> 'manual_message_sent') not valid`,
  );
  const failed = await write();
  t.true(failed.status >= 500, failed.text);
  t.deepEqual(await messages(), []);
  await store.query('alter table realtime_events drop constraint closed');
  const sent = await write();
  t.is(sent.status, 200, sent.text);
  t.is((await messages()).length, 1, 'the repeat mends what was left undone');
  t.deepEqual((await write()).json, sent.json);
  t.is(receiver.heard.length, 2, 'the answer of the agent, and the message once');
  const open = await openStore({ databaseUrl: node.databaseUrl });
  t.teardown(() => open.close());
  const told = await open.inTenant(tenantScope(node.bootstrap.tenant_id), (tx) =>
    tx.any(sql.type(z.object({ message_id: z.string() }))`
      select data ->> 'message_id' as message_id from realtime_events where type = 'manual_message_sent'`),
  );
  t.deepEqual(told, [{ message_id: sent.json.data.message_id }]);
});
