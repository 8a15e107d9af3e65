import test from 'ava';
import { parseMail } from '../../../src/automation/mail-reading/parse-mail.js';

const plain = 'Content-Type: text/plain; charset=utf-8';
const emoji = '\u{1f600}';

async function parsed(lines: readonly string[]) {
  return parseMail(Buffer.from(lines.join('\r\n')));
}

test('no cut of a mail leaves half of a character', async (t) => {
  const name = `${'n'.repeat(199)}${emoji}`;
  const mail = await parsed([
    `From: "${'a'.repeat(254)}${emoji}" <ada@example.com>`,
    `Subject: ${'s'.repeat(999)}${emoji}`,
    'Content-Type: multipart/mixed; boundary=b',
    '',
    '--b',
    plain,
    '',
    `${'t'.repeat(99_999)}${emoji}`,
    '--b',
    `Content-Disposition: attachment; filename="${name}"`,
    '',
    'x',
    '--b--',
  ]);
  t.is(mail.text.length, 100_000);
  t.is(mail.subject.length, 1_000);
  t.is(mail.senderName?.length, 255);
  t.is(mail.attachments[0]?.length, 200);
  const texts = [mail.text, mail.subject, mail.senderName ?? '', ...mail.attachments];
  t.deepEqual(
    texts.map((text) => text.isWellFormed()),
    texts.map(() => true),
  );
});

test('an address with a control character is no sender', async (t) => {
  const senderOf = async (address: string): Promise<string | undefined> =>
    (await parsed([`From: <${address}>`, plain, '', 'hello'])).sender;
  t.is(await senderOf('=?utf-8?Q?ada=00?=@example.com'), undefined);
  t.is(await senderOf('=?utf-8?Q?ada?=@example.com'), 'ada@example.com');
});
