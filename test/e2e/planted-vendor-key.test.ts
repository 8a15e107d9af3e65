import { randomBytes } from 'node:crypto';
import test from 'ava';
import { addOwnKey, ask, openAiAt, startVendor } from '../support/clients/direct-calls.js';
import { startTestNode } from '../support/servers/node.js';
import { dump, ownerView } from '../support/database/owner-view.js';
import { recordSpans } from '../support/clients/recorded-spans.js';
import { OpenAiServer } from '../support/servers/vendors/openai-server.js';

const model = 'openai.gpt-4.1-mini';

test('no answer, log, trace, metric or column contains a vendor key, also if the vendor repeats it', async (t) => {
  const platform = `planted${randomBytes(12).toString('hex')}`;
  const own = `planted${randomBytes(12).toString('hex')}`;
  const spans = recordSpans();
  const server = await startVendor(t, new OpenAiServer());
  const node = await startTestNode(t, { environment: openAiAt(server, platform) });
  const texts: string[] = [];
  const callInAllWays = async (key: string): Promise<void> => {
    const told = `no such thing for ${key}, not for ${encodeURIComponent(key)} either`;
    server.script({}, { status: 400, message: told }, { status: 401, message: told });
    for (let count = 0; count < 3; count += 1) texts.push((await ask(node, { model })).text);
    server.script({ pieces: ['a', 'b'], failAfter: 1 }, { garbage: `{"error": "${key}"}` });
    for (const stream of [true, false]) texts.push((await ask(node, { model, stream })).text);
  };
  await callInAllWays(platform);
  await addOwnKey(node, 'openai', own);
  await callInAllWays(own);
  t.deepEqual(new Set(server.requests.map(({ key }) => key)), new Set([platform, own]));
  texts.push((await node.client.call('GET', '/metrics')).text);
  texts.push((await node.client.call('GET', '/api/errors')).text);
  const owner = await ownerView(node.databaseUrl);
  const stored = await dump(owner);
  await owner.end();
  t.true(stored.includes(model), 'the search reads the books');
  t.true(stored.includes('Hello there'), 'and what is told of calls');
  await node.stop();
  t.true(
    spans.some((text) => text.includes('provider_error')),
    'failed calls are in the traces',
  );
  texts.push(stored, node.log(), ...spans);
  for (const key of [platform, own]) {
    for (const form of [key, Buffer.from(key).toString('hex'), Buffer.from(key).toString('base64')]) {
      t.false(
        texts.some((text) => text.includes(form)),
        form,
      );
    }
  }
});
