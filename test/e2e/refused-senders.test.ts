// What refused messages leave of their senders goes with them: mails, joined messages, and where their answers would go.
import { randomBytes } from 'node:crypto';
import test from 'ava';
import { createTrigger, endBuffers, executionsOf, sendSigned } from '../support/builders/triggers.js';
import { eventually } from '../support/clocks/eventually.js';
import { tenantView } from '../support/database/owner-view.js';
import { tablesWith } from '../support/database/tables-with.js';
import { sendMail, sharedMailNode } from '../support/servers/mails.js';
import type { TenantNode } from '../support/servers/node.js';

// Tests follow each other: a mail that a busy machine does not read in time is told to come again.
const shared = sharedMailNode(test);

const patience = { everyMs: 100, timeoutMs: 60_000 };
const marker = (): string => `planted${randomBytes(10).toString('hex')}`;

/** Requests about one person. */
function person({ client, bootstrap: { api_key: key } }: TenantNode, name: string) {
  const path = `/api/v1/consumers/${name}`;
  return {
    deny: () => client.call('POST', `${path}/deny`, { key, body: {} }),
    erase: () => client.call('DELETE', path, { key }),
  };
}

function bufferOf(field: string) {
  return {
    execution: {
      mode: 'async',
      callback: { url: 'https://receiver.example/' },
      message_buffer: { enabled: true, window_ms: 60_000 },
    },
    session_strategy: { mode: 'derive', fields: [field] },
    sender_access: { identity_field: 'from' },
    context_mapping: { note: '$.message' },
  };
}

test.serial('a person whose mails were only ever refused is erased', async (t) => {
  const node = await shared.tenant(t);
  const [denied, stranger] = [marker(), marker()];
  const open = await createTrigger(node, { reply: false }, 'email');
  const closed = await createTrigger(node, { reply: false, allowed_senders: ['@hotel.example'] }, 'email');
  t.is((await person(node, `${denied}@example.org`).deny()).status, 200);
  for (const [word, trigger] of [
    [denied, open],
    [stranger, closed],
  ] as const) {
    const mail = { from: `Ann <${word}@example.org>`, text: `hear ${word}` };
    t.is(await sendMail(node.mailPort, { to: `${trigger.id}@example.org`, ...mail }), 250);
    t.is((await executionsOf(node, trigger)).length, 1);
    const { erase } = person(node, `${word}@example.org`);
    const erased = await erase();
    t.like(erased.json.data, { sessions: 0, messages: 0, executions: 1 }, erased.text);
    t.deepEqual(await executionsOf(node, trigger), []);
    t.deepEqual(await tablesWith(node.databaseUrl, word), []);
    t.is((await erase()).json.error, 'not_found');
  }
});

test.serial('a person who was denied while their message waited leaves no reply route', async (t) => {
  const node = await shared.tenant(t);
  const word = marker();
  const trigger = await createTrigger(node, bufferOf('from'));
  t.is((await sendSigned(node, trigger, { message: `hear ${word}`, from: word })).status, 202);
  t.is((await person(node, word).deny()).status, 200);
  await endBuffers(node);
  const blocked = async () => (await executionsOf(node, trigger)).some(({ status }) => status === 'blocked');
  await eventually(blocked, { ...patience, what: 'the denied message ends' });
  const erased = await person(node, word).erase();
  t.like(erased.json.data, { sessions: 0, messages: 0, executions: 1 }, erased.text);
  t.deepEqual(await tablesWith(node.databaseUrl, word), []);
  const rows = await tenantView(node);
  t.teardown(() => rows.end());
  for (const table of ['trigger_replies', 'trigger_inbox', 'deliveries'])
    t.is((await rows.query(`select from ${table}`)).rowCount, 0, `${table}, which holds sealed words`);
});

test.serial('a joined message that its session refuses goes with each of its senders', async (t) => {
  const node = await shared.tenant(t);
  const word = marker();
  const trigger = await createTrigger(node, bufferOf('room'));
  const say = async (from: string, message: string) => {
    const sent = await sendSigned(node, trigger, { message, from, room: 'hall' });
    t.is(sent.status, 202, sent.text);
  };
  const ended = async (status: string) => {
    await endBuffers(node);
    return (await executionsOf(node, trigger)).some((one) => one['status'] === status);
  };
  await say('first', 'hear me');
  await eventually(() => ended('completed'), { ...patience, what: 'the session is that of another person' });
  await say(word, `hear ${word}`);
  await say('another', 'hear me too');
  await eventually(() => ended('failed'), { ...patience, what: 'the session refuses what both wrote' });
  const { erase } = person(node, word);
  const erased = await erase();
  t.like(erased.json.data, { sessions: 0, messages: 0, executions: 1 }, erased.text);
  t.deepEqual(await tablesWith(node.databaseUrl, word), []);
  t.is((await executionsOf(node, trigger)).length, 1, 'that of the other person stays');
  t.is((await erase()).json.error, 'not_found');
});
