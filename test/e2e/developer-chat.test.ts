import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { commandLine } from '../support/clients/command-line.js';
import { publishAgent } from '../support/builders/published-agents.js';
import { sharedNode } from '../support/servers/shared-node.js';

const shared = sharedNode(test);

test('login keeps the key for the later commands, readable by its owner alone', async (t) => {
  t.timeout(240_000);
  const node = await shared.tenant(t);
  const troupe = await commandLine(t, node);
  t.regex(await troupe.signedIn(['chat', 'x', 'hi'], { code: 1 }), /troupe login/);
  const wrong = ['login', '--url', node.client.baseUrl, '--key', 'svc_live_nobody'];
  t.regex(await troupe.signedIn(wrong, { code: 1 }), /invalid_api_key/);
  t.regex(await troupe.run(['login']), /Signed in at /);
  const { mode } = await stat(join(troupe.folder, 'troupe', 'credentials.json'));
  t.is(mode & 0o077, 0);
  const answer = await troupe.signedIn(['chat', node.bootstrap.agent_id, 'hello', 'there']);
  t.regex(answer, /^echo: hello there$/m);
  t.regex(answer, /^session [0-9a-f-]{36} {2}execution [0-9a-f-]{36}$/m);
  await troupe.signedIn(['logout']);
  t.regex(await troupe.signedIn(['chat', 'x', 'hi'], { code: 1 }), /troupe login/);
});

test('chat finds agents by name, continues a session, and prints events as JSON', async (t) => {
  t.timeout(240_000);
  const node = await shared.tenant(t);
  const troupe = await commandLine(t, node);
  const more = { name: 'helper' };
  await publishAgent(node.client, node.bootstrap, { model: 'sim.echo', more });
  t.regex(await troupe.run(['chat', 'helpr', 'hi'], { code: 1 }), /no agent helpr\. Did you mean "helper"\?/);
  const lines = (await troupe.run(['chat', 'helper', 'one', '--json'])).trim().split('\n');
  const events = lines.map((line) => JSON.parse(line) as { type: string; session_id?: string });
  t.is(events[0]?.type, 'metadata');
  t.is(events.at(-1)?.type, 'done');
  const session = events[0]?.session_id ?? '';
  const answer = await troupe.run(['chat', 'helper', 'two', '--session', session, '-q']);
  t.is(answer, 'echo: two\n');
  const { json } = await node.client.call('GET', `/api/v1/sessions/${session}/messages`, {
    key: node.bootstrap.api_key,
  });
  t.is(json.count, 4);
});

test('chat exits with 1 if the turn does not complete', async (t) => {
  t.timeout(240_000);
  const node = await shared.tenant(t);
  const troupe = await commandLine(t, node);
  const { session_id: session } = (
    await node.client.call('POST', '/api/sessions', {
      key: node.bootstrap.api_key,
      body: { agent_id: node.bootstrap.agent_id },
    })
  ).json.data;
  await node.client.call('POST', `/api/v1/sessions/${session}/handoff`, {
    key: node.bootstrap.api_key,
    body: {},
  });
  const words = ['chat', node.bootstrap.agent_id, 'hi', '--session', session];
  t.regex(await troupe.run(words, { code: 1 }), /^SUSPENDED$/m);
});
