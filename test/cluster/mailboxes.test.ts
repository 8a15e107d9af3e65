import test from 'ava';
import { eventually } from '../support/clocks/eventually.js';
import { startImapServer } from '../support/servers/imap-server.js';
import { startNodes } from '../support/servers/nodes.js';

const patience = { timeoutMs: 120_000, everyMs: 200 };

function mailOf(id: string): string {
  return `From: ada@example.com\nSubject: Rooms\nMessage-ID: <${id}@example.com>\n\n${id}\n`;
}

test('one of two nodes polls a mailbox, another continues when it dies, and each mail runs once', async (t) => {
  t.timeout(300_000);
  const server = await startImapServer();
  t.teardown(() => server.close());
  // The mails of this test have no signature.
  const environment = { TROUPE_EGRESS_ALLOW: '127.0.0.0/8', TROUPE_MAIL_SENDER_CHECK: 'off' };
  const world = await startNodes(t, { count: 2, environment });
  const { access_token: token, tenant_id: tenant, agent_id } = world.bootstrap;
  const [one, other] = world.nodes;
  if (one === undefined || other === undefined) throw new Error('two nodes were started');
  await one.client.call('POST', '/api/secrets', {
    token,
    tenant,
    body: { name: 'mailbox', value: server.password, kind: 'generic' },
  });
  const imap = { host: '127.0.0.1', port: server.port, user: server.user, secret_ref: 'mailbox' };
  const made = await one.client.call('POST', '/api/triggers', {
    token,
    tenant,
    body: { agent_id, name: 'mail', trigger_type: 'email', trigger_config: { imap, reply: false } },
  });
  await eventually(() => server.signIns > 0, patience);
  for (const id of ['a', 'b', 'c']) server.deliver(mailOf(id));
  const textsFrom = async (node: typeof one) => {
    const path = `/api/triggers/${made.json.data.id}/executions`;
    const { json } = await node.client.call('GET', path, { token, tenant });
    const texts: string[] = json.data.map(({ input_preview }: { input_preview: string }) => input_preview);
    return texts.toSorted((left, right) => left.localeCompare(right));
  };
  // A connection is closed when a node loses a late poll to the other or its mailbox answers late; the next poll opens one.
  const oneConnection = () =>
    eventually(() => server.connections === 1, { ...patience, what: 'one connection' });
  await eventually(async () => (await textsFrom(one)).length === 3, { ...patience, what: 'three mails' });
  await oneConnection();
  // One after the other, so that the one that looks is surely among them; and in the middle of a look.
  const killLooking = async (node: typeof one, id: string) => {
    server.silent = true;
    server.deliver(mailOf(id));
    await eventually(() => server.unanswered > 0, { ...patience, what: 'a look at the mailbox' });
    await node.kill();
    server.silent = false;
  };
  await killLooking(one, 'd');
  await eventually(async () => (await textsFrom(other)).includes('d'), {
    ...patience,
    what: 'the fourth mail',
  });
  const third = await world.add(environment);
  await killLooking(other, 'e');
  await eventually(async () => (await textsFrom(third)).includes('e'), {
    ...patience,
    what: 'the fifth mail',
  });
  t.deepEqual(await textsFrom(third), ['a', 'b', 'c', 'd', 'e']);
  await oneConnection();
});
