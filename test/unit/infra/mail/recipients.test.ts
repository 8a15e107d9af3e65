import test from 'ava';
import { createTransport } from 'nodemailer';
import { messageOf } from '../../../../src/infra/mail/transport.js';

const transport = createTransport({ streamTransport: true, buffer: true, newline: 'unix' });

async function sent(fields: { to?: string; subject?: string }) {
  const mail = { id: '1', messageId: '<1@t.test>', from: 'agent@t.test', text: 'x', date: new Date(0) };
  const { envelope, message } = await transport.sendMail(
    messageOf({ ...mail, to: 'ada@example.com', subject: 'hello', ...fields }),
  );
  const [head = ''] = (Buffer.isBuffer(message) ? message.toString('utf8') : '').split('\n\n');
  return { to: envelope.to, names: head.split('\n').flatMap((line) => /^[\w-]+(?=:)/.exec(line) ?? []) };
}

test('a mail has one recipient, whatever the address of the answered sender contains', async (t) => {
  t.deepEqual((await sent({})).to, ['ada@example.com']);
  for (const to of [
    'ada@example.com,postmaster',
    'ada,root@example.com',
    'ada@example.com;eve@example.org',
  ]) {
    const recipients = (await sent({ to })).to;
    t.true(Array.isArray(recipients) && recipients.length <= 1, `${to}: ${String(recipients)}`);
  }
});

test('a line end in a subject or an address starts no header', async (t) => {
  const plain = (await sent({})).names;
  for (const end of ['\r\n', '\n', '\r', '\u2028']) {
    t.deepEqual((await sent({ subject: `hello${end}Bcc: eve@example.org` })).names, plain);
    const { names, to } = await sent({ to: `ada@example.com${end}Bcc: eve@example.org` });
    t.deepEqual(names, plain);
    t.true(Array.isArray(to) && to.length <= 1);
  }
});
