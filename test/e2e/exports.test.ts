import test from 'ava';
import { makeTenant } from '../support/builders/tenants.js';
import { startConversations } from '../support/servers/conversations.js';
import { sharedNode } from '../support/servers/shared-node.js';

const shared = sharedNode(test);
const kinds = ['usage', 'calls', 'sessions', 'messages', 'executions', 'audit'];

test('a tenant takes its rows away as lines of JSON and as CSV, and nobody else does', async (t) => {
  const node = await shared.tenant(t);
  const talk = await startConversations(node);
  const { sessionId } = await talk.say({ message: '=cmd()' });
  const stranger = await makeTenant(await shared.tenant(t));
  for (const kind of kinds) {
    const path = `/api/v1/exports/${kind}`;
    const jsonl = await node.client.call('GET', path, { key: node.bootstrap.api_key });
    t.is(jsonl.status, 200, kind);
    t.true(String(jsonl.headers.get('content-disposition')).startsWith('attachment'), kind);
    const rows = jsonl.text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    t.true(rows.length > 0, kind);
    const csv = await node.client.call('GET', `${path}?format=csv`, { key: node.bootstrap.api_key });
    t.is(csv.text.split('\r\n')[0], Object.keys(rows[0] ?? {}).join(','), kind);
    t.is(
      (await node.client.call('GET', `${path}?end_date=2020-01-01`, { key: node.bootstrap.api_key })).text,
      '',
    );
    const foreign = await node.client.call('GET', path, { key: stranger.keys.owner });
    t.false(foreign.text.includes(sessionId), kind);
    t.is((await node.client.call('GET', path, { key: stranger.keys.editor })).status, 403, kind);
  }
  const messages = await node.client.call('GET', '/api/v1/exports/messages?format=csv', {
    key: node.bootstrap.api_key,
  });
  t.true(messages.text.includes(",'=cmd()"));
  t.is(
    (await node.client.call('GET', '/api/v1/exports/secrets', { key: node.bootstrap.api_key })).status,
    404,
  );
});
