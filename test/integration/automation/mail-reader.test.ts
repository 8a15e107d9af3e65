// Mails crafted to stop their reader.
import test, { type ExecutionContext } from 'ava';
import { systemTime, type Time } from '../../../cluster/index.js';
import { MailReader } from '../../../src/automation/mail-reading/mail-reader.js';
import { longestTurn } from '../../support/clocks/longest-turn.js';
import { SlowMail, UnreadableMail } from '../../../src/automation/mail-reading/parsed-mail.js';
import { ManualTime } from '../../support/clocks/manual-time.js';

const head = 'From: Ada <ada@example.com>\r\nMessage-ID: <a@example.com>\r\n';
const html = `${head}Content-Type: text/html\r\n\r\n`;
const tenant = '018f0000-0000-7000-8000-000000000001';

/** By a clock that stands: a busy machine needs more than the ten seconds that a mail may take. */
function reading(
  t: ExecutionContext,
  time: Time = new ManualTime('2026-01-01T00:00:00Z'),
): (mail: string) => ReturnType<MailReader['read']> {
  const reader = new MailReader({
    time,
    lookUp: () => Promise.reject(new Error('nobody looks anything up')),
  });
  t.teardown(async () => reader.close());
  return (mail) => reader.read(tenant, Buffer.from(mail));
}

test('an ordinary mail is read', async (t) => {
  const { mail, verdict } = await reading(t)(`${html}<p>Do you have <b>a room</b>?</p>`);
  t.like(mail, { id: 'a@example.com', sender: 'ada@example.com', senderName: 'Ada' });
  t.is(mail.text.trim(), 'Do you have a room?');
  t.is(verdict, 'unchecked');
});

test('a mail that no parser can read is reported with its reason, and the next one is read', async (t) => {
  const read = reading(t);
  const nested = `${html}${'<div>'.repeat(4_000)}`;
  await t.throwsAsync(read(nested), { instanceOf: UnreadableMail, message: /nests more than/ });
  // The parser sees the content that base64 hides from the count.
  const encoded = Buffer.from('<div>'.repeat(60_000)).toString('base64');
  const hidden = `${head}Content-Type: text/html\r\nContent-Transfer-Encoding: base64\r\n\r\n${encoded}`;
  await t.throwsAsync(read(hidden), { instanceOf: UnreadableMail });
  t.is((await read(`${head}\r\nhello`)).mail.text.trim(), 'hello');
});

test('tags, parts and header lines are counted before parsing, and too many are refused', async (t) => {
  const read = reading(t);
  await t.throwsAsync(read(`${html}${'<p>a'.repeat(250_000)}`), { message: /more than 50000 tags/ });
  const parts = `${head}Content-Type: multipart/mixed; boundary=b\r\n\r\n${'--b\r\n\r\nx\r\n'.repeat(3_000)}`;
  await t.throwsAsync(read(parts), { message: /more than 2000 parts/ });
  await t.throwsAsync(read(`${'X-A: b\r\n'.repeat(3_000)}\r\n`), { message: /more than 2000 lines/ });
  await t.throwsAsync(read(`X-A: ${'b'.repeat(300_000)}\r\n\r\n`), { message: /header has more than/ });
});

test('a long thread that quotes many addresses does not count as nested tags', async (t) => {
  const quoted = '> On Monday Ada <ada@example.com> wrote:\r\n'.repeat(1_500);
  const { mail } = await reading(t)(`${head}\r\n${quoted}a room, please`);
  t.true(mail.text.trim().endsWith('a room, please'));
});

test('no field of a mail contains a NUL, which PostgreSQL would refuse on every delivery', async (t) => {
  const read = reading(t);
  const { mail } = await read(
    'From: "A\0da" <ada@example.com>\r\nSubject: a\0b\r\nMessage-ID: <a\0b@c>\r\nReferences: <d\0e@f>\r\n\r\nx\0y',
  );
  t.notRegex(JSON.stringify(mail), /\\u0000/);
  t.like(mail, { id: 'ab@c', sender: 'ada@example.com', references: ['de@f'] });
});

test('a mail that is not read in time may be good: it is not called unreadable', async (t) => {
  const time = new ManualTime('2026-01-01T00:00:00Z');
  const reader = new MailReader({
    time,
    lookUp: async () => {
      // As if the process got no core for so long.
      time.advance(20_000);
      return [];
    },
  });
  t.teardown(async () => reader.close());
  const check = { by: 'smtp', ip: '192.0.2.1', helo: 'a.example', mailFrom: 'ada@example.com' } as const;
  await t.throwsAsync(reader.read(tenant, Buffer.from(`${head}\r\nhello`), check), {
    instanceOf: SlowMail,
    message: /longer than 20 seconds/,
  });
});

test.serial('a mail that takes long to read delays nothing else in the node', async (t) => {
  const read = reading(t, systemTime);
  await read(`${head}\r\nhello`);
  const paragraphs = Buffer.from('<p>a'.repeat(240_000)).toString('base64');
  const slow = `${head}Content-Type: text/html\r\nContent-Transfer-Encoding: base64\r\n\r\n${paragraphs}`;
  const { turnMs } = await longestTurn(() => read(slow).catch(() => undefined));
  t.true(turnMs < 400, `the node stood still for ${Math.round(turnMs)} ms`);
});
