import test from 'ava';
import { eventually } from '../support/clocks/eventually.js';
import { startImapServer } from '../support/servers/imap-server.js';
import { sendMail, sharedMailNode } from '../support/servers/mails.js';
import { addSecret, createTrigger, executionsOf } from '../support/builders/triggers.js';

const patience = { everyMs: 200, timeoutMs: 60_000 };
const nested = '<div>'.repeat(4_000);
// Tests follow each other: a mail that a busy machine does not read in time is told to come again.
const shared = sharedMailNode(test);

test.serial('an unreadable mail is recorded as failed, and the next mails are answered', async (t) => {
  const node = await shared.tenant(t);
  const server = await startImapServer();
  t.teardown(() => server.close());
  await addSecret(node, 'mailbox', server.password);
  const imap = { host: '127.0.0.1', port: server.port, user: server.user, secret_ref: 'mailbox' };
  const trigger = await createTrigger(node, { imap, reply: false }, 'email');
  await eventually(() => server.signIns > 0, patience);
  const from = 'From: Ada <ada@example.com>\nSubject: Rooms\n';
  server.deliver(`${from}Message-ID: <bomb@example.com>\nContent-Type: text/html\n\n${nested}\n`);
  server.deliver(`${from}Message-ID: <next@example.com>\n\na room, please\n`);
  const ended = await eventually(async () => {
    const found = await executionsOf(node, trigger);
    const done = found.filter(({ status }) => status === 'completed' || status === 'failed');
    return done.length === 2 && done;
  }, patience);
  const failed = ended.find(({ status }) => status === 'failed');
  t.like(failed?.['error'], { code: 'unreadable_mail' });
  t.true(ended.some(({ input_preview }) => input_preview === 'a room, please'));
  await eventually(() => server.mails.every(({ flags }) => flags.has('\\Seen')), patience);
});

test.serial('SMTP accepts an unreadable mail once and records it as failed', async (t) => {
  const node = await shared.tenant(t);
  const trigger = await createTrigger(node, { reply: false }, 'email');
  const mail = {
    to: `${trigger.id}@example.org`,
    html: nested,
    date: new Date(0),
    messageId: '<bomb@example.com>',
  };
  t.is(await sendMail(node.mailPort, mail), 250);
  t.is(await sendMail(node.mailPort, mail), 250);
  t.is(await sendMail(node.mailPort, { to: mail.to, text: 'a room, please' }), 250);
  await eventually(async () => {
    const found = await executionsOf(node, trigger);
    return found.some(({ status }) => status === 'completed');
  }, patience);
  const executions = await executionsOf(node, trigger);
  t.is(executions.length, 2);
  t.deepEqual(new Set(executions.map(({ status }) => status)), new Set(['completed', 'failed']));
});
