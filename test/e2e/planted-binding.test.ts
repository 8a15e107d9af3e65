import { randomBytes } from 'node:crypto';
import test from 'ava';
import { startConversations } from '../support/servers/conversations.js';
import { openAiAt, startVendor } from '../support/clients/direct-calls.js';
import { eventually } from '../support/clocks/eventually.js';
import { startTestNode } from '../support/servers/node.js';
import { dump, ownerView } from '../support/database/owner-view.js';
import { httpTool } from '../support/builders/published-agents.js';
import { answerJson, startToolServer } from '../support/servers/tool-servers.js';
import { calling, saying } from '../support/builders/tool-turns.js';
import { OpenAiServer } from '../support/servers/vendors/openai-server.js';

test('a planted binding reaches its tool, but not the store, the log, the model or a reader', async (t) => {
  const vendor = await startVendor(t, new OpenAiServer());
  const node = await startTestNode(t, { environment: openAiAt(vendor) });
  const talk = await startConversations(node);
  const value = `planted${randomBytes(12).toString('hex')}`;
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  const tools = await startToolServer(t, async (_, response) => {
    await released;
    answerJson(response, { done: true });
  });
  const schema = httpTool('order', tools.url, { headers: { 'X-Account': '${context.account}' } });
  const agentId = await talk.agent('openai.gpt-4.1-mini', {}, [schema]);
  vendor.script(calling(['order', { what: 'tea' }]), saying('It is ordered.'));
  const turn = talk.say({ message: 'order some tea for me', bindings: { account: value } }, { agentId });
  await eventually(() => tools.heard.length > 0);
  const owner = await ownerView(node.databaseUrl);
  // While the turn runs is when a careless store would hold it.
  const during = await dump(owner);
  release();
  const reading = await turn;
  t.deepEqual(reading.outcomes, ['COMPLETED']);
  t.is(tools.heard[0]?.headers['x-account'], value);
  const after = await dump(owner);
  await owner.end();
  t.true(
    during.includes(reading.executionId) && after.includes(reading.executionId),
    'the search reads the rows',
  );
  const execution = await talk.get(`/api/v1/executions/${reading.executionId}`);
  await node.stop();
  const model = JSON.stringify(vendor.requests.map(({ body, headers }) => ({ body, headers })));
  t.true(model.includes('order some tea'));
  const places = { during, after, model, log: node.log(), reader: JSON.stringify([reading, execution]) };
  const bytes = Buffer.from(value);
  for (const form of [value, bytes.toString('hex'), bytes.toString('base64').slice(0, 32)]) {
    for (const [place, text] of Object.entries(places))
      t.false(text.includes(form), `${form} is in ${place}`);
  }
});
