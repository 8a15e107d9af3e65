import { buffer } from 'node:stream/consumers';
import test from 'ava';
import { createTransport } from 'nodemailer';
import { linksTo } from '../../support/builders/account-mails.js';

const composer = createTransport({ streamTransport: true, buffer: true, newline: 'windows' });

async function mailWith(link: string): Promise<string> {
  const { message } = await composer.sendMail({
    from: 'troupe@example.com',
    to: 'ada@example.com',
    subject: 'Invitation',
    text: `Open this link to accept:\n\n${link}\n`,
  });
  return (Buffer.isBuffer(message) ? message : await buffer(message)).toString();
}

test('the token of a link is read as it was written, whichever encoding its mail has', async (t) => {
  // In quoted-printable text, "=3D" is an equals sign.
  const token = '3DbDwK8ZVhUrMhj-sDz2vpCSTbuOJ8iq';
  const plain = await mailWith(`https://a.example/join?token=${token}`);
  const encoded = await mailWith(`https://${'a'.repeat(60)}.example/join?token=${token}`);
  t.regex(plain, /Content-Transfer-Encoding: 7bit/);
  t.regex(encoded, /Content-Transfer-Encoding: quoted-printable/);
  const folder = { read: async () => [plain, encoded] };
  t.deepEqual(await linksTo(folder, 'join', 'ada@example.com'), [token, token]);
});
