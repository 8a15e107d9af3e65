import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import test from 'ava';
import { createTransport } from 'nodemailer';
import pg from 'pg';
import { eventually } from '../support/clocks/eventually.js';
import { freePort } from '../support/servers/free-port.js';
import { waitersFor } from '../support/database/lock-waiters.js';
import { sendMail, sharedMailNode, startMailNode } from '../support/servers/mails.js';
import { startNodes } from '../support/servers/nodes.js';
import type { TenantNode } from '../support/servers/node.js';
import {
  asOwner,
  createTrigger,
  executionOf,
  executionsOf,
  type TestTrigger,
} from '../support/builders/triggers.js';

// Tests follow each other: a mail that a busy machine does not read in time is told to come again.
const shared = sharedMailNode(test);

async function completed(node: TenantNode, trigger: TestTrigger, count: number) {
  return eventually(
    async () => {
      const all = (await executionsOf(node, trigger)).filter(({ status }) => status === 'completed');
      return all.length >= count && all;
    },
    { what: `${count} answered mails`, everyMs: 100 },
  );
}

test.serial(
  'three mails of a thread are one session of their sender, and another thread is another session',
  async (t) => {
    const node = await shared.tenant(t);
    const trigger = await createTrigger(node, { reply: false }, 'email');
    const to = `${trigger.id}@example.org`;
    const attachments = [{ filename: 'plan.pdf', content: Buffer.alloc(100_000, 1) }];
    const mails = [
      { messageId: '<one@example.com>', subject: 'Rooms', text: 'first\n\n-- \nAda', attachments },
      { messageId: '<two@example.com>', inReplyTo: '<one@example.com>', text: 'second\n\n> first' },
      {
        messageId: '<three@example.com>',
        references: ['<one@example.com>', '<two@example.com>'],
        html: '<p>third &amp; last</p>',
      },
      { messageId: '<other@example.com>', text: 'elsewhere' },
    ];
    for (const mail of mails) t.is(await sendMail(node.mailPort, { to, ...mail }), 250);
    const executions = await completed(node, trigger, 4);
    t.deepEqual(
      executions
        .map(({ input_preview }) => String(input_preview))
        .toSorted((one, other) => one.localeCompare(other)),
      ['elsewhere', 'first', 'second', 'third & last'],
    );
    const sessionOf = (text: string) =>
      executions.find(({ input_preview }) => input_preview === text)?.session_id;
    t.is(sessionOf('second'), sessionOf('first'));
    t.is(sessionOf('third & last'), sessionOf('first'));
    t.not(sessionOf('elsewhere'), sessionOf('first'));
    const session = await asOwner(node, 'GET', `/api/v1/sessions/${sessionOf('first')}`);
    t.like(session.json.data, {
      consumer_key: 'ada@example.com',
      consumer_display_name: 'Ada Lovelace',
      channel: 'email',
    });
    const first = executions.find(({ input_preview }) => input_preview === 'first');
    const { context } = await executionOf(node, trigger, String(first?.['id']));
    t.deepEqual(context, { subject: 'Rooms', attachments: 'plan.pdf' });
  },
);

test.serial('another sender in a thread has a separate session', async (t) => {
  const node = await shared.tenant(t);
  const trigger = await createTrigger(node, { reply: false }, 'email');
  const to = `${trigger.id}@example.org`;
  await sendMail(node.mailPort, { to, messageId: '<a@example.com>', text: 'mine' });
  await sendMail(node.mailPort, {
    to,
    from: 'eve@example.net',
    inReplyTo: '<a@example.com>',
    text: 'yours?',
  });
  const executions = await completed(node, trigger, 2);
  t.is(new Set(executions.map(({ session_id }) => session_id)).size, 2);
});

test.serial('a repeated mail is accepted and runs once for each of its triggers', async (t) => {
  const node = await shared.tenant(t);
  const one = await createTrigger(node, { reply: false }, 'email');
  const other = await createTrigger(node, { reply: false, address: 'Desk@Hotel.example' }, 'email');
  const mail = { messageId: '<same@example.com>', text: 'once' };
  const to = [`${one.id}@a.example`, 'desk@hotel.example'];
  t.is(await sendMail(node.mailPort, { to, ...mail }), 250);
  t.is(await sendMail(node.mailPort, { to, ...mail }), 250);
  t.is(await sendMail(node.mailPort, { to: to[0], messageId: '<next@example.com>', text: 'twice' }), 250);
  t.is((await completed(node, one, 2)).length, 2);
  t.is((await completed(node, other, 1)).length, 1);
  t.is((await executionsOf(node, one)).length, 2);
});

test.serial('mail to unknown recipients is refused with 550, large mail with 552', async (t) => {
  const node = await shared.tenant(t);
  const mail = { text: 'hello' };
  const trigger = await createTrigger(node, { reply: false }, 'email');
  const to = `${trigger.id}@example.org`;
  t.is(await sendMail(node.mailPort, { to: `${randomUUID()}@example.org`, ...mail }), 550);
  t.is(await sendMail(node.mailPort, { to: 'nobody@example.org', ...mail }), 550);
  const schedule = await createTrigger(node, { cron: '0 0 1 1 *', message: 'x' }, 'schedule');
  t.is(await sendMail(node.mailPort, { to: `${schedule.id}@example.org`, ...mail }), 550);
  t.is(await sendMail(node.mailPort, { to, text: 'x'.repeat(11 * 1024 * 1024) }), 552);
  t.is(await sendMail(node.mailPort, { to, ...mail }), 250);
  await asOwner(node, 'POST', `/api/triggers/${trigger.id}/disable`);
  t.is(await sendMail(node.mailPort, { to, ...mail }), 550);
});

test.serial('automatic mail is accepted and runs nothing', async (t) => {
  const node = await shared.tenant(t);
  const trigger = await createTrigger(node, { reply: false, address: 'desk@inn.example' }, 'email');
  const to = `${trigger.id}@example.org`;
  const automatic = [
    { headers: { 'Auto-Submitted': 'auto-replied' } },
    { headers: { Precedence: 'bulk' } },
    { headers: { 'List-Id': '<news.example.com>' } },
    { envelope: { from: '', to: [to] } },
    { from: 'desk@inn.example' },
    { from: to },
  ];
  for (const mail of automatic) t.is(await sendMail(node.mailPort, { to, text: 'machine', ...mail }), 250);
  const headers = { 'Auto-Submitted': 'no' };
  t.is(await sendMail(node.mailPort, { to, text: 'person', headers }), 250);
  await completed(node, trigger, 1);
  const executions = await executionsOf(node, trigger);
  t.deepEqual(
    executions.map(({ input_preview }) => input_preview),
    ['person'],
  );
});

test.serial('mail of disallowed senders is accepted, recorded as blocked, and runs nothing', async (t) => {
  const node = await shared.tenant(t);
  const config = { reply: false, allowed_senders: ['@Example.com', 'bob@example.net'] };
  const trigger = await createTrigger(node, config, 'email');
  const to = `${trigger.id}@example.org`;
  const denied = await asOwner(node, 'POST', '/api/v1/consumers/mallory@example.com/deny', {});
  t.true(denied.status < 300, denied.text);
  for (const from of ['mallory@example.com', 'eve@example.net', 'bob@example.net', 'ada@example.com']) {
    t.is(await sendMail(node.mailPort, { to, from, text: `of ${from}` }), 250);
  }
  await completed(node, trigger, 2);
  const executions = await executionsOf(node, trigger);
  const fates = executions.map(({ status, input_preview }) => `${input_preview}: ${status}`);
  t.deepEqual(fates.toSorted(), [
    'of ada@example.com: completed',
    'of bob@example.net: completed',
    'of eve@example.net: blocked',
    'of mallory@example.com: blocked',
  ]);
});

test.serial('a mail is accepted only once committed: its sender retries after the node died', async (t) => {
  const mailPort = await freePort();
  const environment = {
    TROUPE_SMTP_IN_PORT: String(mailPort),
    TROUPE_MAIL_DOMAIN: 'example.org',
    TROUPE_MAIL_SENDER_CHECK: 'off',
  };
  const world = await startNodes(t, { count: 1, environment });
  const [first] = world.nodes;
  if (first === undefined) throw new Error('one node was started');
  const asOwnerOfDemo = { token: world.bootstrap.access_token, tenant: world.bootstrap.tenant_id };
  const made = await first.client.call('POST', '/api/triggers', {
    ...asOwnerOfDemo,
    body: {
      agent_id: world.bootstrap.agent_id,
      name: 'mail',
      trigger_type: 'email',
      trigger_config: { reply: false },
    },
  });
  const to = `${made.json.data.id}@example.org`;
  const mail = { to, messageId: '<kept@example.com>', text: 'keep me' };
  const client = new pg.Client(world.databaseUrl);
  await client.connect();
  t.teardown(() => client.end());
  await client.query('begin; lock table trigger_mails in exclusive mode');
  // The list has the locks of all databases, and databases from one template number their tables alike.
  const sent = sendMail(mailPort, mail).then(
    (code) => code,
    () => 'broken off',
  );
  const backend = await eventually(async () => (await waitersFor(client))[0], {
    what: 'the acceptance waits for the table',
  });
  await first.kill();
  t.is(await sent, 'broken off');
  // PostgreSQL does not notice by itself that the client has left the commit.
  await client.query('select pg_terminate_backend($1)', [backend]);
  await client.query('rollback');
  const next = await world.add(environment);
  t.is(await sendMail(mailPort, mail), 250);
  t.is(await sendMail(mailPort, mail), 250);
  const executions = await eventually(
    async () => {
      const { json } = await next.client.call(
        'GET',
        `/api/triggers/${made.json.data.id}/executions`,
        asOwnerOfDemo,
      );
      return json.data[0]?.status === 'completed' && json.data;
    },
    { what: 'the mail is answered', timeoutMs: 90_000, everyMs: 200 },
  );
  t.is(executions.length, 1);
});

test.serial('a node with a certificate offers TLS to senders', async (t) => {
  // Of its own: settings are tried.
  const node = await startMailNode(t, {
    TROUPE_SMTP_IN_TLS_CERT: 'test/fixtures/tls/good.test.certificate.pem',
    TROUPE_SMTP_IN_TLS_KEY: 'test/fixtures/tls/good.test.key.pem',
  });
  const trigger = await createTrigger(node, { reply: false }, 'email');
  const transport = createTransport({
    host: '127.0.0.1',
    port: node.mailPort,
    requireTLS: true,
    tls: { rejectUnauthorized: false },
  });
  t.teardown(async () => transport.close());
  const to = `${trigger.id}@example.org`;
  const { response } = await transport.sendMail({ from: 'ada@example.com', to, text: 'sealed' });
  t.true(response.startsWith('250'));
  const [execution] = await completed(node, trigger, 1);
  t.is(execution?.['input_preview'], 'sealed');
  // More than the limit of one address: closed connections do not count.
  for (let count = 0; count < 25; count += 1) t.true(await transport.verify());
});

test.serial(
  'one address may hold a bounded number of connections, and the next gets a temporary refusal',
  async (t) => {
    // Of its own: it keeps all connections of this address.
    const { mailPort } = await startMailNode(t);
    const greetingOf = async () => {
      const socket = connect(mailPort, '127.0.0.1');
      t.teardown(async () => void socket.destroy());
      const [greeting] = await once(socket, 'data');
      return String(greeting).slice(0, 3);
    };
    for (let count = 0; count < 20; count += 1) t.is(await greetingOf(), '220');
    t.is(await greetingOf(), '421');
  },
);
