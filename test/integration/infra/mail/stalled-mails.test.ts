// Mail servers that neither take a mail nor fail.
import { randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { z } from 'zod';
import { createMail, MailError } from '../../../../src/infra/mail/index.js';
import { insertMail } from '../../../../src/infra/mail/mails.store.js';
import { createSmtpTransport } from '../../../../src/infra/mail/smtp-transport.js';
import { answersAtOnce, type MailTransport, queuedAtOnce } from '../../../../src/infra/mail/transport.js';
import { mailPlace, MailWorker } from '../../../../src/infra/mail/worker.js';
import { systemPlatform } from '../../../../src/infra/platform/index.js';
import { createSealer } from '../../../../src/infra/sealing/index.js';
import { openStore, sql } from '../../../../src/infra/storage/index.js';
import { logTo, platformOf } from '../../../support/builders/platform.js';
import { eventually } from '../../../support/clocks/eventually.js';
import { ManualTime } from '../../../support/clocks/manual-time.js';
import { createDatabase } from '../../../support/database/database.js';
import { startTalker } from '../../../support/servers/databases.js';
import { masterKey } from '../../../support/servers/identity.js';
import { type MailServer, startMailServer } from '../../../support/servers/mail-server.js';

const mailRow = z.object({
  id: z.string(),
  sent: z.boolean(),
  waits: z.boolean(),
  last_error: z.string().nullable(),
});

test('a mail that a server never takes is tried again later, and others are sent meanwhile', async (t) => {
  const { url } = await createDatabase(t);
  const store = await openStore({ databaseUrl: url });
  // A mail is given up by its age on PostgreSQL's clock.
  const time = new ManualTime(new Date().toISOString());
  const sealer = createSealer({ masterKey, random: systemPlatform.random });
  const problems: unknown[] = [];
  const begun = new Map<string, AbortSignal>();
  const transport: MailTransport = {
    send: (mail, signal) => {
      begun.set(mail.to, signal);
      return mail.to === 'stalled@example.com' ? new Promise(() => undefined) : Promise.resolve();
    },
    close: async () => undefined,
  };
  const worker = new MailWorker({
    store,
    sealer,
    transport,
    from: () => 'Troupe <no-reply@troupe.example.com>',
    time,
    random: systemPlatform.random,
    mayAct: () => true,
    onProblem: (error) => problems.push(error),
  });
  t.teardown(async () => {
    const closing = worker.close();
    time.advance(5_000);
    await closing;
    await store.close();
  });
  const queue = async (recipient: string): Promise<string> => {
    const id = randomUUID();
    const content = Buffer.from(JSON.stringify({ subject: 'Hello', text: 'Good day.\n' }));
    const mail = { tenantId: null, id, messageId: `<${id}@troupe.example.com>`, recipient };
    const sealedContent = sealer.seal(content, mailPlace(null, id));
    await store.directory((tx) => insertMail(tx, { ...mail, sealedContent }));
    worker.wake();
    return id;
  };
  const row = async (id: string) =>
    store.directory((tx) =>
      tx.one(sql.type(mailRow)`
        select id, last_error, sent_at is not null as sent,
          next_attempt_at between now() and now() + interval '1 minute' as waits
        from mails where id = ${id}`),
    );
  const stalled = await queue('stalled@example.com');
  await eventually(() => begun.has('stalled@example.com'), { what: 'the attempt that stalls' });
  const other = await queue('ada@example.com');
  time.advance(90_000);
  await eventually(async () => (await row(other)).sent, { what: 'the other mail sent' });
  t.like(await row(stalled), {
    sent: false,
    waits: true,
    last_error: 'The mail server did not take the mail within 90 seconds.',
  });
  t.true(begun.get('stalled@example.com')?.aborted, 'the transport can end the attempt');
  t.is(problems.length, 1);
  t.regex(String(problems[0]), new RegExp(`mail ${stalled}, attempt 1, was not sent`));
});

/** A mail server that answers byte by byte without end, until it is told to pass connections on to the given one. */
async function startTrickling(t: ExecutionContext, behind?: MailServer) {
  const state = { url: '', trickling: 0, isSlow: true };
  const { port } = await startTalker(t, (socket) => {
    if (behind !== undefined && !state.isSlow) {
      const server = connect(Number(new URL(behind.url).port), '127.0.0.1');
      socket.pipe(server).pipe(socket);
      socket.on('close', () => server.destroy());
      return;
    }
    let timer: NodeJS.Timeout | undefined;
    socket.write('220 relay\r\n');
    socket.once('data', () => {
      state.trickling += 1;
      timer = setInterval(() => socket.write('250-wait\r\n'), 20);
    });
    socket.on('close', () => {
      clearInterval(timer);
      state.trickling -= 1;
    });
  });
  state.url = `smtp://127.0.0.1:${port}`;
  return state;
}

const outgoing = {
  id: '1',
  messageId: '<1@troupe.example.com>',
  from: 'no-reply@troupe.example.com',
  to: 'ada@example.com',
  subject: 'Hello',
  text: 'Good day.\n',
  date: new Date(0),
};

test('an attempt that is given up frees its connection to a server that answers byte by byte', async (t) => {
  const server = await startMailServer();
  t.teardown(server.close);
  const relay = await startTrickling(t, server);
  const transport = createSmtpTransport(relay.url);
  t.teardown(() => transport.close());
  const attempt = new AbortController();
  // As many as the transport has connections.
  const connections = queuedAtOnce + answersAtOnce.all;
  const stalled = Array.from({ length: connections }, () => transport.send(outgoing, attempt.signal));
  await eventually(() => relay.trickling === connections, { what: 'connections that trickle' });
  attempt.abort();
  for (const one of stalled) await t.throwsAsync(one, { name: 'MailError' });
  await eventually(() => relay.trickling === 0, { what: 'the end of the connections' });
  relay.isSlow = false;
  await transport.send(outgoing, new AbortController().signal);
  t.is(server.taken.length, 1);
});

test('a mail that its caller retries is given up after the time that the caller sets, or at its signal', async (t) => {
  const { url } = await createDatabase(t);
  const store = await openStore({ databaseUrl: url });
  const relay = await startTrickling(t);
  const mail = createMail(platformOf({ store, log: logTo(() => undefined) }), {
    sealer: createSealer({ masterKey, random: systemPlatform.random }),
    smtpUrl: relay.url,
    outboxFolder: '/nowhere',
    publicUrl: () => 'https://troupe.example.com/',
  });
  t.teardown(async () => {
    await mail.close();
    await store.close();
  });
  mail.start();
  const error = await t.throwsAsync(mail.send(outgoing, 500), { instanceOf: MailError });
  t.false(error.final);
  t.regex(error.message, /within 0\.5 seconds/);
  await eventually(() => relay.trickling === 0, { what: 'the end of the connection' });
  const caller = new AbortController();
  const sending = mail.send(outgoing, 60_000, caller.signal);
  await eventually(() => relay.trickling === 1, { what: 'another connection' });
  caller.abort(new Error('broken off'));
  await t.throwsAsync(sending, { message: 'broken off' });
  await eventually(() => relay.trickling === 0, { what: 'the end of that connection' });
});

test('closing ends what is being sent, so that a stalled mail does not keep the process', async (t) => {
  const relay = await startTrickling(t);
  const transport = createSmtpTransport(relay.url);
  const sending = transport.send(outgoing, new AbortController().signal);
  await eventually(() => relay.trickling === 1, { what: 'a connection that trickles' });
  await transport.close();
  await t.throwsAsync(sending, { name: 'MailError' });
  await eventually(() => relay.trickling === 0, { what: 'the end of the connection' });
});
