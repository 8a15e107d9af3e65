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

test.serial('each sender of a buffer has a turn of their own, and goes with all they wrote', async (t) => {
  const node = await shared.tenant(t);
  const [first, second] = [marker(), marker()];
  const trigger = await createTrigger(node, bufferOf('room'));
  const say = async (from: string | undefined, message: string, key = message) => {
    const said = { message, from, room: 'hall' };
    const sent = await sendSigned(node, trigger, said, { 'idempotency-key': key });
    t.is(sent.status, 202, sent.text);
    return sent.json.buffered;
  };
  const said = [
    [first, `hear ${first}`],
    [second, `no, hear ${second}`],
    [undefined, 'hear both'],
    [first, `once more ${first}`],
  ] as const;
  for (const [index, [from, message]] of said.entries()) t.is(await say(from, message), index + 1);
  await endBuffers(node);
  const executions = await eventually(
    async () => {
      const found = await executionsOf(node, trigger);
      return found.length === 3 && found.every(({ finished_at }) => finished_at !== null) && found;
    },
    { ...patience, what: 'each sender has an execution that ended' },
  );
  const shown = executions.map(({ status, error, input_preview: text }) => [text, status, error?.code]);
  t.deepEqual(
    shown.toSorted(([one], [other]) => String(one).localeCompare(String(other))),
    [
      ['hear both', 'completed', undefined],
      [`hear ${first}\nonce more ${first}`, 'completed', undefined],
      [`no, hear ${second}`, 'failed', 'CONFLICT'],
    ],
  );
  for (const [index, [from, message]] of said.entries())
    t.is(await say(from, message), index + 1, 'a repeat gets the first answer');
  for (const [word, counts] of [
    [second, { sessions: 0, messages: 0, executions: 1 }],
    [first, { sessions: 1, messages: 4, executions: 2 }],
  ] as const) {
    const { erase } = person(node, word);
    const erased = await erase();
    t.like(erased.json.data, counts, erased.text);
    t.deepEqual(await tablesWith(node.databaseUrl, word), []);
    t.is((await erase()).json.error, 'not_found');
  }
  const rows = await tenantView(node);
  t.teardown(() => rows.end());
  for (const table of ['trigger_replies', 'trigger_inbox', 'deliveries'])
    t.is((await rows.query(`select from ${table}`)).rowCount, 0, `${table}, which holds sealed words`);
});

test.serial("a blocked message changes nothing of where another's session is answered", async (t) => {
  const node = await shared.tenant(t);
  const [word, trigger] = [marker(), await createTrigger(node, bufferOf('room'))];
  const rows = await tenantView(node);
  t.teardown(() => rows.end());
  const say = async (from: string) => {
    t.is((await sendSigned(node, trigger, { message: `of ${from}`, from, room: 'hall' })).status, 202);
  };
  const ends = (status: string) =>
    eventually(
      async () => {
        await endBuffers(node);
        return (await executionsOf(node, trigger)).some((one) => one['status'] === status);
      },
      { ...patience, what: `a message is ${status}` },
    );
  const route = async () => (await rows.query('select sealed from trigger_replies')).rows;
  await say('first');
  await ends('completed');
  const before = await eventually(
    async () => {
      const found = await route();
      return found.length === 1 && found;
    },
    { ...patience, what: 'the route is kept' },
  );
  await say(word);
  t.is((await person(node, word).deny()).status, 200);
  await ends('blocked');
  t.deepEqual(await route(), before);
});

test.serial('messages of a buffer that their session refuses go with their senders', async (t) => {
  const node = await shared.tenant(t);
  const word = marker();
  const trigger = await createTrigger(node, bufferOf('room'));
  const say = async (from: string, message: string) => {
    const sent = await sendSigned(node, trigger, { message, from, room: 'hall' });
    t.is(sent.status, 202, sent.text);
  };
  const ended = async (status: string, count: number) => {
    await endBuffers(node);
    return (await executionsOf(node, trigger)).filter((one) => one['status'] === status).length === count;
  };
  await say('first', 'hear me');
  await eventually(() => ended('completed', 1), {
    ...patience,
    what: 'the session is that of another person',
  });
  await say(word, `hear ${word}`);
  await say('another', 'hear me too');
  await eventually(() => ended('failed', 2), { ...patience, what: 'the session refuses what both wrote' });
  const { erase } = person(node, word);
  const erased = await erase();
  t.like(erased.json.data, { sessions: 0, messages: 0, executions: 1 }, erased.text);
  t.deepEqual(await tablesWith(node.databaseUrl, word), []);
  t.is((await executionsOf(node, trigger)).length, 2, 'those of the other people stay');
  t.is((await erase()).json.error, 'not_found');
});
