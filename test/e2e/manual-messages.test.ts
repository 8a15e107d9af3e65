import test from 'ava';
import pg from 'pg';
import { z } from 'zod';
import { tenantScope } from '../../src/kernel/tenant-scope.js';
import { openStore, sql } from '../../src/infra/storage/index.js';
import { eventually } from '../support/clocks/eventually.js';
import { startTestNode } from '../support/servers/node.js';
import { sharedNode } from '../support/servers/shared-node.js';
import { ownerView } from '../support/database/owner-view.js';
import { answerJson, startToolServer } from '../support/servers/tool-servers.js';
import { asOwner, createTrigger, executionsOf, sendSigned } from '../support/builders/triggers.js';

const shared = sharedNode(test);

test('a manual message and its realtime event are written together or not at all', async (t) => {
  const receiver = await startToolServer(t, (_request, response) => answerJson(response, {}));
  // Of its own: the table of events takes no more of them for a while.
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

const takenUp = [
  {
    fate: 'delivered',
    end: `status = 'delivered', finished_at = now()`,
    status: 200,
    told: 'delivered_at',
  },
  {
    fate: 'refused',
    end: `status = 'delivery_failed', finished_at = now(), last_error = 'The receiver answered 418.'`,
    status: 502,
    told: 'The receiver answered 418.',
  },
];

for (const { fate, end, status, told } of takenUp) {
  test(`a manual message that another process claimed and that was ${fate} is answered accordingly`, async (t) => {
    let takeUp: () => Promise<unknown> = async () => undefined;
    const receiver = await startToolServer(t, async (_request, response) => {
      await takeUp();
      answerJson(response, {});
    });
    const node = await shared.tenant(t);
    const trigger = await createTrigger(node, {
      session_strategy: { mode: 'derive', fields: ['from'] },
      execution: {
        mode: 'async',
        callback: { url: receiver.url },
        split_config: { enabled: true, max_chunk_size: 100, inter_chunk_delay_ms: 0 },
      },
    });
    await sendSigned(node, trigger, { message: 'hi', from: 'ada' });
    const { session_id } = await eventually(async () =>
      (await executionsOf(node, trigger)).find((one) => one.delivery_status === 'delivered'),
    );
    await asOwner(node, 'POST', `/api/v1/sessions/${session_id}/handoff`);
    const store = await ownerView(node.databaseUrl);
    t.teardown(() => store.end());
    const pending = `where tenant_id = '${node.bootstrap.tenant_id}' and execution_id is null and status = 'pending'`;
    takeUp = () =>
      store.query(
        `update deliveries set chunk = 2, attempts = 1, due_at = now() + interval '1 minute' ${pending}`,
      );
    const before = receiver.heard.length;
    const answer = node.client.call('POST', `/api/v1/sessions/${session_id}/manual-message`, {
      key: node.bootstrap.api_key,
      body: { message: `${'a'.repeat(80)} ${'b'.repeat(80)}` },
    });
    await eventually(async () => {
      const { rowCount } = await store.query(`update deliveries set ${end} ${pending} and chunk = 2`);
      return rowCount === 1;
    });
    const given = await answer;
    t.is(given.status, status, given.text);
    t.true(given.text.includes(told), given.text);
    t.is(receiver.heard.length, before + 1, 'the other chunk was the other process’s to send');
  });
}
