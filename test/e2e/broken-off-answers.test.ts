import type { ServerResponse } from 'node:http';
import test, { type ExecutionContext } from 'ava';
import { eventually } from '../support/clocks/eventually.js';
import { type TenantNode } from '../support/servers/node.js';
import { sharedNode } from '../support/servers/shared-node.js';
import { startToolServer } from '../support/servers/tool-servers.js';
import { asOwner, createTrigger, executionsOf, sendSigned } from '../support/builders/triggers.js';

const shared = sharedNode(test);

/** A receiver that accepts requests, answers none, and records those that its callers aborted. */
async function silentReceiver(t: ExecutionContext) {
  const open = new Set<ServerResponse>();
  const server = await startToolServer(t, (_request, response) => {
    open.add(response);
    response.on('close', () => open.delete(response));
  });
  return { ...server, open };
}

async function answerUnderWay(t: ExecutionContext, node: TenantNode) {
  const receiver = await silentReceiver(t);
  const trigger = await createTrigger(node, {
    session_strategy: { mode: 'derive', fields: ['from'] },
    sender_access: { identity_field: 'from' },
    execution: {
      mode: 'async',
      callback: { url: receiver.url },
      split_config: { enabled: true, max_chunk_size: 100, inter_chunk_delay_ms: 0 },
    },
  });
  await sendSigned(node, trigger, { message: 'word '.repeat(60), from: 'ada@example.com' });
  await eventually(() => receiver.open.size === 1);
  const [execution] = await executionsOf(node, trigger);
  const delivery = async () => {
    const listed = await asOwner(node, 'GET', `/api/v1/deliveries?trigger_id=${trigger.id}`);
    return listed.json.data[0];
  };
  return { receiver, sessionId: String(execution?.session_id), delivery };
}

for (const verb of ['handoff', 'suspend']) {
  test(`an answer being sent is aborted before a ${verb} is answered`, async (t) => {
    const node = await shared.tenant(t);
    const { receiver, sessionId, delivery } = await answerUnderWay(t, node);
    const { status } = await asOwner(node, 'POST', `/api/v1/sessions/${sessionId}/${verb}`, {});
    t.is(status, 200);
    t.like(await delivery(), {
      status: 'delivery_failed',
      chunk: 1,
      attempts: 1,
      last_error: 'Broken off: session.',
    });
    await eventually(() => receiver.open.size === 0);
    t.is(receiver.heard.length, 1, 'no other chunk follows');
  });
}

test('an answer being sent to a denied person is aborted', async (t) => {
  const node = await shared.tenant(t);
  const { receiver, delivery } = await answerUnderWay(t, node);
  await asOwner(node, 'POST', '/api/v1/consumers/ada%40example.com/deny', {});
  const failed = await eventually(
    async () => {
      const row = await delivery();
      return row.status === 'delivery_failed' && row;
    },
    // Looks count in the user's window.
    { everyMs: 100 },
  );
  t.is(failed.last_error, 'Broken off: denylist.');
  t.is(receiver.heard.length, 1);
});
