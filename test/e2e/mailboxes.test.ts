import test, { type ExecutionContext } from 'ava';
import { eventually } from '../support/clocks/eventually.js';
import { type ImapServer, startImapServer } from '../support/servers/imap-server.js';
import { type TenantNode } from '../support/servers/node.js';
import { sharedNode } from '../support/servers/shared-node.js';
import { ownerView } from '../support/database/owner-view.js';
import {
  addSecret,
  asOwner,
  createTrigger,
  executionsOf,
  lookNow,
  type TestTrigger,
} from '../support/builders/triggers.js';

const shared = sharedNode(test);

const patience = { everyMs: 200, timeoutMs: 60_000 };

function mailOf(id: string, text: string, headers = ''): string {
  return `From: Ada <ada@example.com>\nTo: desk@hotel.example\nSubject: Rooms\nMessage-ID: <${id}@example.com>\n${headers}\n${text}\n`;
}

async function mailboxTrigger(
  t: ExecutionContext,
  node: TenantNode,
  server: ImapServer,
  more = {},
): Promise<TestTrigger> {
  t.teardown(() => server.close());
  await addSecret(node, 'mailbox', server.password);
  const imap = {
    host: '127.0.0.1',
    port: server.port,
    user: server.user,
    secret_ref: 'mailbox',
    mailbox: 'INBOX',
  };
  return createTrigger(node, { imap, reply: false, ...more }, 'email');
}

async function textsOf(node: TenantNode, trigger: TestTrigger): Promise<string[]> {
  return (await executionsOf(node, trigger))
    .map(({ input_preview }) => String(input_preview))
    .toSorted((one, other) => one.localeCompare(other));
}

test('a mailbox poll runs each new mail once, also after renumbering, and marks it as seen', async (t) => {
  const node = await shared.tenant(t);
  const server = await startImapServer();
  server.deliver(mailOf('old', 'before'), new Date(Date.now() - 3_600_000));
  const trigger = await mailboxTrigger(t, node, server);
  await eventually(() => server.signIns > 0, patience);
  const news = [
    server.deliver(mailOf('one', 'first')),
    server.deliver(mailOf('two', 'second', 'In-Reply-To: <one@example.com>\n')),
    server.deliver(mailOf('list', 'news', 'Precedence: list\n')),
  ];
  await eventually(async () => (await textsOf(node, trigger)).length >= 2, patience);
  t.deepEqual(await textsOf(node, trigger), ['first', 'second']);
  const sessions = (await executionsOf(node, trigger)).map(({ session_id }) => session_id);
  t.is(new Set(sessions).size, 1);
  await eventually(() => news.every(({ flags }) => flags.has('\\Seen')), patience);
  t.false(server.mails[0]?.flags.has('\\Seen'), 'what was there before is left alone');
  const signIns = server.signIns;
  server.renumber();
  await eventually(async () => {
    await lookNow(node);
    return server.signIns > signIns;
  }, patience);
  server.deliver(mailOf('three', 'third'));
  await eventually(async () => (await textsOf(node, trigger)).includes('third'), patience);
  t.deepEqual(await textsOf(node, trigger), ['first', 'second', 'third']);
});

test('a mailbox that refuses the password is reported with the trigger and logged once without the password', async (t) => {
  const node = await shared.tenant(t);
  const server = await startImapServer();
  t.teardown(() => server.close());
  await addSecret(node, 'wrong', 'not the password');
  const imap = { host: '127.0.0.1', port: server.port, user: server.user, secret_ref: 'wrong' };
  const trigger = await createTrigger(node, { imap }, 'email');
  const seen = async () => (await asOwner(node, 'GET', `/api/triggers/${trigger.id}`)).json.data.source;
  const source = await eventually(async () => {
    const told = await seen();
    return told?.failures > 0 && told;
  }, patience);
  t.is(source.last_error, 'The mailbox refused the user and password.');
  t.false(node.log().includes('not the password'));
  // Mails since the creation of the trigger are new, whenever the mailbox is first polled.
  const news = server.deliver(mailOf('meanwhile', 'came meanwhile'), new Date(Date.now() - 30_000));
  const old = server.deliver(mailOf('old', 'before'), new Date(Date.now() - 3_600_000));
  const secrets = await asOwner(node, 'GET', '/api/secrets');
  const { id } = secrets.json.data.find(({ name }: { name: string }) => name === 'wrong');
  const { status } = await asOwner(node, 'PUT', `/api/secrets/${id}/value`, { value: server.password });
  t.is(status, 200);
  const owner = await ownerView(node.databaseUrl);
  t.teardown(() => owner.end());
  // As if the trigger had been made a minute ago.
  await owner.query(
    `update trigger_sources set due_at = now() - interval '5 seconds',
         state = jsonb_set(state, '{began_ms}', to_jsonb((state ->> 'began_ms')::float8 - 60000))
       where tenant_id = $1`,
    [node.bootstrap.tenant_id],
  );
  await eventually(async () => (await textsOf(node, trigger)).length > 0, patience);
  t.deepEqual(await textsOf(node, trigger), ['came meanwhile']);
  // Mails of one poll are marked together.
  await eventually(() => news.flags.has('\\Seen'), patience);
  t.false(old.flags.has('\\Seen'));
});

test('a trigger with a mailbox at a forbidden address is refused', async (t) => {
  const node = await shared.tenant(t);
  await addSecret(node, 'mailbox', 'x');
  const { status, json } = await asOwner(node, 'POST', '/api/triggers', {
    agent_id: node.bootstrap.agent_id,
    name: 'x',
    trigger_type: 'email',
    trigger_config: { imap: { host: '169.254.169.254', port: 993, user: 'x', secret_ref: 'mailbox' } },
  });
  t.is(status, 400);
  t.is(json.details.field, 'trigger_config.imap.host');
});
