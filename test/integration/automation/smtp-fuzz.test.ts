// The SMTP listener over real sockets, with senders that keep to nothing. Nothing of them may reach beyond their own
// connection: the listener answers in SMTP's form or hangs up, and takes an ordinary mail after each of them.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import test, { type ExecutionContext } from 'ava';
import fc from 'fast-check';
import { systemTime } from '../../../cluster/index.js';
import { MailReader } from '../../../src/automation/mail-reading/mail-reader.js';
import { SlowMail } from '../../../src/automation/mail-reading/parsed-mail.js';
import type { EvaluatedMail } from '../../../src/automation/mail/mail-intake.js';
import { SmtpListener, type SmtpListenerParts } from '../../../src/automation/mail/smtp-listener.js';
import { emailTrigger } from '../../support/builders/email-trigger.js';
import { freePort } from '../../support/servers/free-port.js';
import { fuzzRuns, fuzzTimeoutMs } from '../../support/builders/fuzz-runs.js';
import { sendMail } from '../../support/servers/mails.js';

const { trigger } = emailTrigger();
const recipient = `${trigger.id}@agents.example`;

async function started(
  t: ExecutionContext,
  tls: SmtpListenerParts['tls'],
  read?: SmtpListenerParts['reader']['read'],
) {
  const port = await freePort();
  const taken: string[] = [];
  const unreadable: string[] = [];
  const problems: string[] = [];
  const reader = new MailReader({ time: systemTime, lookUp: () => Promise.reject(new Error('no DNS')) });
  const kept = (text: string): EvaluatedMail => ({
    trigger,
    messageId: text,
    thread: text,
    sessionId: null,
    message: text,
    refusal: { status: 'blocked', error: null },
  });
  const listener = new SmtpListener({
    host: '127.0.0.1',
    port,
    tls,
    live: { get: (id) => (id === trigger.id ? trigger : undefined) },
    reads: { directory: async () => [], inTenant: async () => [], close: async () => undefined },
    addresses: {
      triggerIdIn: (address) => (address.endsWith('@agents.example') ? address.split('@')[0] : undefined),
      claimant: async () => ({ tenantId: undefined }),
    },
    reader: read === undefined ? reader : { read },
    checksSenders: false,
    intake: {
      evaluate: async (_found, { mail }) => kept(mail.text.trim()),
      unreadable: (_found, digest) => {
        unreadable.push(digest);
        return kept('unreadable');
      },
      accept: async (judged) => void taken.push('message' in judged ? judged.message : ''),
    },
    time: systemTime,
    report: (attempted, error) => void problems.push(`${attempted}: ${String(error)}`),
  });
  await listener.start();
  t.teardown(async () => {
    await listener.stop();
    reader.close();
  });
  return { port, taken, unreadable, problems };
}

/** Something that a sender does. */
type Act =
  | { readonly kind: 'send'; readonly bytes: Buffer }
  | { readonly kind: 'listen' }
  | { readonly kind: 'pause'; readonly ms: number };

const send = (text: string | Uint8Array): Act => ({ kind: 'send', bytes: Buffer.from(text) });
const words = fc.constantFrom(
  'HELO a',
  'EHLO a.example',
  'EHLO',
  'NOOP',
  'RSET',
  'QUIT',
  'HELP',
  'VRFY x',
  'STARTTLS',
  'AUTH PLAIN AA==',
  'MAIL FROM:<ada@example.com>',
  'MAIL FROM:<>',
  'MAIL FROM:<a@b> SIZE=99999999999999999999',
  'MAIL FROM:',
  `RCPT TO:<${recipient}>`,
  'RCPT TO:<nobody@agents.example>',
  'RCPT TO:<<<>>>',
  'RCPT TO:',
  'DATA',
  'BDAT 5',
  'XCLIENT ADDR=127.0.0.2',
  'PROXY TCP4 1.1.1.1 2.2.2.2 1 2',
  'GET / HTTP/1.1',
  '.',
  '',
  '\0',
  '\u00ff\u00fe',
);
const ends = fc.constantFrom('\r\n', '\n', '\r', '\r\r\n', '', '\0\r\n', ' \r\n');
const command = fc.tuple(words, ends).map(([word, end]) => send(word + end));
const pipelined = fc
  .array(words, { minLength: 2, maxLength: 200 })
  .map((all) => send(`${all.join('\r\n')}\r\n`));
const longLine = fc
  .tuple(words, fc.integer({ min: 400, max: 200_000 }))
  .map(([word, length]) => send(`${word} ${'x'.repeat(length)}\r\n`));
const garbage = fc.uint8Array({ maxLength: 4_096 }).map((bytes) => send(bytes));
const clientHello = fc
  .uint8Array({ minLength: 1, maxLength: 300 })
  .map((bytes) => send(Buffer.concat([Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00]), Buffer.from(bytes)])));
const manyRecipients = fc
  .tuple(fc.integer({ min: 2, max: 300 }), fc.boolean())
  .map(([count, known]) =>
    send(
      Array.from({ length: count }, (_, at) => `RCPT TO:<${known ? recipient : `x${at}@y`}>\r\n`).join(''),
    ),
  );

const headerLine = fc.oneof(
  fc.constantFrom(
    'From: a@b',
    'From: ,,,<>',
    'Message-ID: <',
    'References: <a> <b>',
    'Content-Type: text/html',
  ),
  fc.constantFrom(
    'Content-Transfer-Encoding: base64',
    'Content-Type: multipart/mixed; boundary=b',
    'Date: x',
  ),
  fc.constantFrom(
    'Content-Type: message/rfc822',
    'Subject: =?utf-8?B?////?=',
    'Subject: =?x?y?z?=',
    ' folded',
    ':',
  ),
  fc.string({ maxLength: 300 }),
);
const bodyPart = fc.oneof(
  fc.constantFrom(
    '--b\r\n\r\nx\r\n',
    '--b--\r\n',
    '--b\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n',
  ),
  fc.constantFrom(
    '<div>',
    '<p>a',
    '&#x',
    '<!--',
    '<table><tr>',
    '..\r\n',
    '\r\n',
    '\0',
    '=3D=\r\n',
    '='.repeat(500),
  ),
  fc.string({ maxLength: 500 }),
);
/** A mail, its body repeated: MIME bombs and nests of tags among them. */
const mail = fc
  .tuple(
    fc.array(headerLine, { maxLength: 20 }),
    fc.array(bodyPart, { maxLength: 8 }),
    fc.integer({ min: 1, max: 3_000 }),
    fc.constantFrom('\r\n.\r\n', '\r\n.\r\nNOOP\r\n', '\n.\n', '\r\n', ''),
  )
  .map(([head, body, times, end]) => {
    const text = `${head.join('\r\n')}\r\n\r\n${body.join('').repeat(times).slice(0, 300_000)}`;
    return send(`EHLO a\r\nMAIL FROM:<ada@example.com>\r\nRCPT TO:<${recipient}>\r\nDATA\r\n${text}${end}`);
  });

const act: fc.Arbitrary<Act> = fc.oneof(
  { weight: 6, arbitrary: command },
  { weight: 2, arbitrary: pipelined },
  { weight: 1, arbitrary: longLine },
  { weight: 2, arbitrary: garbage },
  { weight: 1, arbitrary: clientHello },
  { weight: 1, arbitrary: manyRecipients },
  { weight: 3, arbitrary: mail },
  { weight: 2, arbitrary: fc.constant<Act>({ kind: 'listen' }) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 30 }).map<Act>((ms) => ({ kind: 'pause', ms })) },
);
const sender = fc.record({
  /** Whether the greeting is waited for. */
  patient: fc.boolean(),
  acts: fc.array(act, { maxLength: 12 }),
  /** How it leaves. */
  leaves: fc.constantFrom<'ends' | 'breaks off'>('ends', 'breaks off'),
  chunk: fc.constantFrom(1, 7, 1_000, 65_536),
});

type Sender = typeof sender extends fc.Arbitrary<infer One> ? One : never;

const heardMs = 50;

/** The listener's answer. */
async function play(port: number, { patient, acts, leaves, chunk }: Sender): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  const heard: Buffer[] = [];
  socket.on('data', (bytes) => heard.push(bytes));
  socket.on('error', () => undefined);
  const closed = new Promise<void>((resolve) => void socket.once('close', () => resolve()));
  await Promise.race([once(socket, 'connect'), closed]);
  const next = (): Promise<unknown> =>
    Promise.race([
      new Promise((resolve) => void socket.once('data', resolve)),
      closed,
      new Promise((resolve) => void systemTime.after(heardMs, () => resolve(undefined))),
    ]);
  if (patient) await Promise.race([new Promise((resolve) => void socket.once('data', resolve)), closed]);
  for (const one of acts) {
    if (socket.destroyed) break;
    if (one.kind === 'listen') await next();
    else if (one.kind === 'pause')
      await new Promise<void>((resolve) => void systemTime.after(one.ms, resolve));
    else await write(socket, one.bytes, one.bytes.byteLength < 5_000 ? chunk : 65_536, closed);
  }
  if (leaves === 'ends') socket.end();
  else socket.destroy();
  await closed;
  return Buffer.concat(heard).toString('latin1');
}

async function write(socket: Socket, bytes: Buffer, chunk: number, closed: Promise<void>): Promise<void> {
  for (let at = 0; at < bytes.byteLength && !socket.destroyed; at += chunk) {
    if (socket.write(bytes.subarray(at, at + chunk))) continue;
    await Promise.race([new Promise((resolve) => void socket.once('drain', resolve)), closed]);
  }
}

const replies = /^(?:[2-5]\d\d(?:[ -][^\r\n]*)?\r\n)*$/;
const tls = {
  cert: readFileSync('test/fixtures/tls/good.test.certificate.pem'),
  key: readFileSync('test/fixtures/tls/good.test.key.pem'),
};

for (const encrypts of [false, true]) {
  test.serial(`no sender leaves its own connection${encrypts ? ', where it may encrypt' : ''}`, async (t) => {
    const numRuns = fuzzRuns(30);
    t.timeout(fuzzTimeoutMs(numRuns));
    const { port, taken, problems } = await started(t, encrypts ? tls : undefined);
    let count = 0;
    await fc.assert(
      fc.asyncProperty(sender, async (one) => {
        const heard = await play(port, one);
        // After a failed handshake the bytes are TLS.
        if (!encrypts && !replies.test(heard))
          throw new Error(`answered ${JSON.stringify(heard.slice(-500))}`);
        count += 1;
        if (count % 10 !== 0) return;
        const text = `ordinary ${count}`;
        const code = await sendMail(port, { to: recipient, text });
        if (code !== 250 || !taken.includes(text)) throw new Error(`an ordinary mail was answered ${code}`);
      }),
      { numRuns, endOnFailure: true, includeErrorInReport: true },
    );
    t.deepEqual(problems, []);
    t.pass();
  });
}

test.serial(
  'a mail without an end, a flood of commands and a search for recipients are disconnected',
  async (t) => {
    const { port } = await started(t, undefined);
    const opening = 'EHLO a\r\nMAIL FROM:<ada@example.com>\r\n';
    const flood = async (head: string, piece: Buffer, bytesMax: number): Promise<number> => {
      const socket = connect(port, '127.0.0.1');
      socket.on('error', () => undefined);
      const closed = new Promise<void>((resolve) => void socket.once('close', () => resolve()));
      await once(socket, 'data');
      socket.on('data', () => undefined);
      socket.write(head);
      // Some megabytes wait in the sockets when the listener hangs up.
      for (let sent = 0; sent < bytesMax && !socket.destroyed; sent += piece.byteLength) {
        await write(socket, piece, 65_536, closed);
      }
      const sent = socket.bytesWritten;
      socket.destroy();
      return sent;
    };
    const megabyte = 1024 * 1024;
    const line = Buffer.from(`${'x'.repeat(998)}\r\n`.repeat(64));
    const endless = await flood(`${opening}RCPT TO:<${recipient}>\r\nDATA\r\n`, line, 632 * megabyte);
    t.true(endless < 40 * megabyte, `${endless} bytes of one mail`);
    const commands = await flood('', Buffer.from('NOOP\r\n'.repeat(10_000)), 32 * megabyte);
    t.true(commands < 12 * megabyte, `${commands} bytes of commands`);
    const search = Buffer.from('RCPT TO:<who@agents.example>\r\n'.repeat(2_000));
    const searched = await flood(opening, search, 32 * megabyte);
    t.true(searched < 12 * megabyte, `${searched} bytes of recipients`);
    const lines = await flood('EHLO a', Buffer.alloc(65_536, 0x61), 32 * megabyte);
    t.true(lines < 12 * megabyte, `${lines} bytes of one line`);
    t.is(await sendMail(port, { to: recipient, text: 'hello' }), 250);
  },
);

test.serial('a mail that is not read in time is not accepted, so that its sender tries again', async (t) => {
  const read = () => Promise.reject(new SlowMail('The mail takes longer than 10 seconds to read.'));
  const { port, taken, unreadable } = await started(t, undefined, read);
  t.is(await sendMail(port, { to: recipient, text: 'hello' }), 451);
  t.deepEqual([taken, unreadable], [[], []]);
});

test.serial('commands sent in the clear after STARTTLS are not part of the encrypted session', async (t) => {
  const { port } = await started(t, tls);
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'data');
  socket.write('STARTTLS\r\nEHLO injected\r\nMAIL FROM:<mallory@example.com>\r\n');
  t.regex(String((await once(socket, 'data'))[0]), /^220 /);
  const secured = connectTls({ socket, rejectUnauthorized: false });
  await once(secured, 'secureConnect');
  const heard: Buffer[] = [];
  secured.on('data', (bytes: Buffer) => heard.push(bytes));
  secured.write('NOOP\r\nQUIT\r\n');
  await once(secured, 'close');
  t.regex(Buffer.concat(heard).toString(), /^250 [^\r\n]*\r\n221 [^\r\n]*\r\n$/);
});
