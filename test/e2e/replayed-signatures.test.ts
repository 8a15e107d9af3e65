import { createHmac } from 'node:crypto';
import test from 'ava';
import { startTestNode } from '../support/servers/node.js';
import { createTrigger, executionsOf } from '../support/builders/triggers.js';

test.serial('a request signed with a timestamp cannot be replayed without one', async (t) => {
  const node = await startTestNode(t);
  const trigger = await createTrigger(node, { query_extraction: { mode: 'full_body' } });
  const body = 'pay the bill';
  const timestamp = String(Math.floor(Date.now() / 1_000));
  const signature = createHmac('sha256', trigger.secret).update(`${timestamp}.${body}`).digest('hex');
  const send = (sent: string, headers: Record<string, string>) =>
    node.client.call('POST', trigger.path, {
      body: sent,
      headers: { 'content-type': 'text/plain', 'x-webhook-signature': `sha256=${signature}`, ...headers },
    });
  const first = await send(body, { 'x-webhook-timestamp': timestamp });
  t.is(first.json.agent_response, `echo: ${body}`);
  for (const headers of [{}, { 'x-webhook-timestamp': '' }] as Record<string, string>[]) {
    const again = await send(`${timestamp}.${body}`, headers);
    t.is(again.status, 401);
    t.is(again.json.error, 'invalid_signature');
    t.regex(again.json.message, /X-Webhook-Timestamp/);
  }
  t.is((await executionsOf(node, trigger)).length, 1);
});
