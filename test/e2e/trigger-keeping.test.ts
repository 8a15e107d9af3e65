import { randomUUID } from 'node:crypto';
import test from 'ava';
import { createTransport } from 'nodemailer';
import { systemTime } from '../../cluster/index.js';
import { openStore } from '../../src/infra/storage/index.js';
import { Retention } from '../../src/automation/inbox/retention.js';
import { eventually } from '../support/clocks/eventually.js';
import { sharedMailNode } from '../support/servers/mails.js';
import { startTestNode } from '../support/servers/node.js';
import { tenantView } from '../support/database/owner-view.js';
import { runProgram } from '../support/servers/program.js';
import { answerJson, startToolServer } from '../support/servers/tool-servers.js';
import {
  asOwner,
  createTrigger,
  executionOf,
  executionsOf,
  sendSigned,
} from '../support/builders/triggers.js';

const shared = sharedMailNode(test);

test('a mail runs once, also after its message was removed from the inbox', async (t) => {
  const node = await shared.tenant(t);
  const rows = await tenantView(node);
  t.teardown(() => rows.end());
  const trigger = await createTrigger(node, { reply: false }, 'email');
  const sender = createTransport({ host: '127.0.0.1', port: node.mailPort, ignoreTLS: true });
  t.teardown(async () => sender.close());
  const send = (messageId: string, text: string) =>
    sender.sendMail({
      from: 'ada@example.com',
      to: `${trigger.id}@agents.example`,
      subject: 'x',
      text,
      messageId,
    });
  const done = async (count: number) =>
    (await executionsOf(node, trigger)).filter(({ status }) => status === 'completed').length === count;
  await send('<one@example.com>', 'first');
  await eventually(() => done(1));
  await eventually(
    async () => (await rows.query(`delete from trigger_inbox where state = 'done'`)).rowCount === 1,
  );
  await send('<one@example.com>', 'first');
  await send('<two@example.com>', 'second');
  await eventually(() => done(2));
  const texts = (await executionsOf(node, trigger)).map(({ input_preview }) => input_preview);
  t.deepEqual(texts, ['second', 'first']);
});

test('answers, mails and reply addresses are removed when they are old, and not before', async (t) => {
  const receiver = await startToolServer(t, (_request, response) => answerJson(response, {}));
  const node = await shared.tenant(t);
  const rows = await tenantView(node);
  t.teardown(() => rows.end());
  const trigger = await createTrigger(node, {
    session_strategy: { mode: 'derive', fields: ['from'] },
    execution: { mode: 'async', callback: { url: receiver.url } },
  });
  for (const from of ['young', 'old']) await sendSigned(node, trigger, { message: 'hi', from });
  await eventually(async () => {
    const all = await executionsOf(node, trigger);
    return all.length === 2 && all.every(({ delivery_status }) => delivery_status === 'delivered');
  });
  const tenant = node.bootstrap.tenant_id;
  for (const days of [364, 366]) {
    await rows.query(
      `insert into trigger_mails (tenant_id, trigger_id, message_id, thread, created_at)
       values ($1, $2, $3, $3, now() - $4 * interval '1 day')`,
      [tenant, trigger.id, `${days}@example.com`, days],
    );
  }
  const [oldOne, youngOne] = (await rows.query('select id from deliveries order by id')).rows;
  await rows.query(`update deliveries set finished_at = now() - interval '29 days' where id = $1`, [
    youngOne.id,
  ]);
  await rows.query(`update deliveries set finished_at = now() - interval '31 days' where id = $1`, [
    oldOne.id,
  ]);
  await rows.query(
    `update trigger_replies set updated_at = now() - interval '366 days'
    where session_id = (select session_id from deliveries where id = $1)`,
    [oldOne.id],
  );
  const waiting = randomUUID();
  await rows.query(
    `insert into deliveries (tenant_id, id, session_id, trigger_id, key, chunk_total, sealed, created_at, due_at)
     values ($1, $2, $2, $3, 'waiting', 1, '', now() - interval '90 days', now() + interval '1 day')`,
    [tenant, waiting, trigger.id],
  );
  const store = await openStore({ databaseUrl: node.databaseUrl });
  t.teardown(() => store.close());
  await new Retention({ store, time: systemTime, report: (attempted) => t.fail(attempted) }).deleteOld();
  const left = async (table: string, column: string) =>
    (await rows.query(`select ${column} as one from ${table}`)).rows.map(({ one }) => one);
  t.deepEqual(new Set(await left('deliveries', 'id')), new Set([youngOne.id, waiting]));
  t.is((await left('delivery_attempts', 'delivery_id')).length, 1, 'attempts go with their answer');
  t.deepEqual(await left('trigger_mails', 'message_id'), ['364@example.com']);
  t.is((await left('trigger_replies', 'session_id')).length, 1);
});

test('stored trigger data opens after the master key was changed and the old one removed', async (t) => {
  const [before = '', after = ''] = [3, 4].map((byte) => Buffer.alloc(32, byte).toString('base64'));
  const receiver = await startToolServer(t, (_request, response) => answerJson(response, {}));
  // Of its own: it is started anew with another key.
  const first = await startTestNode(t, { environment: { TROUPE_MASTER_KEY: before } });
  const { databaseUrl, dataDir } = first;
  const trigger = await createTrigger(first, {
    session_strategy: { mode: 'derive', fields: ['from'] },
    execution: {
      mode: 'async',
      callback: { url: receiver.url },
      message_buffer: { enabled: true, max_messages: 2 },
    },
  });
  for (const message of ['one', 'two']) await sendSigned(first, trigger, { message, from: 'ada' });
  const execution = await eventually(async () =>
    (await executionsOf(first, trigger)).find((one) => one.delivery_status === 'delivered'),
  );
  await first.stop();
  const rotation = runProgram('bin/troupe.mjs', ['vault', 'rotate'], {
    DATABASE_URL: databaseUrl,
    TROUPE_DATA_DIR: dataDir,
    TROUPE_MASTER_KEY: after,
    TROUPE_MASTER_KEYS_PREVIOUS: before,
  });
  t.is(await rotation.ended, 0, rotation.output());
  const last = await startTestNode(t, { databaseUrl, dataDir, environment: { TROUPE_MASTER_KEY: after } });
  const whole = await executionOf(last, trigger, execution.id);
  t.deepEqual(
    whole.buffered_messages.map(({ message }: { message: string }) => message),
    ['one', 'two'],
  );
  await asOwner(last, 'POST', `/api/v1/sessions/${execution.session_id}/handoff`, {});
  const written = await asOwner(last, 'POST', `/api/v1/sessions/${execution.session_id}/manual-message`, {
    message: 'a person here',
  });
  t.is(written.status, 200, written.text);
});
