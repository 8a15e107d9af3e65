import test from 'ava';
import { renderMail } from '../../../src/infra/mail/index.js';
import { resetMail, verifyMail } from '../../../src/tenancy/identity/account-mails.js';
import { joinMail } from '../../../src/tenancy/invites/join-mail.js';

const token = 'A'.repeat(43);
const publicUrl = 'https://troupe.example.com/';
const email = 'ada@example.com';

test('the mail that verifies an address', (t) => {
  const mail = verifyMail({ email, token, publicUrl });
  t.is(mail.subject, 'Confirm your address');
  t.is(
    mail.text,
    `Confirm that you read mail at this address.

Address: ada@example.com

Open this link to confirm:

https://troupe.example.com/verify?token=${token}

It works once, within 24 hours.
If you did not expect this mail, there is nothing to do.
`,
  );
});

test('the mail that lets a person choose a new password', (t) => {
  const mail = resetMail({ email, token, publicUrl });
  t.is(mail.subject, 'Choose a new password');
  t.is(
    mail.text,
    `A new password was requested for your account.

Account: ada@example.com

Open this link to choose it:

https://troupe.example.com/reset?token=${token}

It works once, within one hour, and ends every sign-in.
If you did not request it, there is nothing to do.
`,
  );
});

test('the mail of an invitation', (t) => {
  const expiresAt = new Date('2026-11-30T10:20:00Z');
  const names = { tenant: 'Ada & Co', inviter: 'Grace', role: 'editor' } as const;
  const mail = joinMail({ ...names, email, token, publicUrl, expiresAt });
  t.is(mail.subject, 'Invitation to join Ada & Co');
  t.is(
    mail.text,
    `You are invited to join a team.

Team: Ada & Co
Role: editor
Invited by: Grace
Address: ada@example.com

Open this link to accept:

https://troupe.example.com/join?token=${token}

It works once, until 2026-11-30 10:20 UTC.
If you did not expect this mail, there is nothing to do.
`,
  );
});

test('the HTML has the same parts, loads nothing and takes names as text', (t) => {
  const { html } = renderMail({
    subject: 'A <subject>',
    opening: 'Somebody & others',
    facts: [['Team', '<img src=x onerror=alert(1)>"\'']],
    action: { label: 'Open', link: 'https://troupe.example.com/join?token=a&b="' },
    closing: ['The end.'],
  });
  t.is(
    html,
    `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>A &lt;subject&gt;</title></head>
<body style="font: 16px/1.5 sans-serif; color: #1c2430">
<p>Somebody &amp; others</p>
<table>
<tr><th align="left">Team</th>
<td>&lt;img src=x onerror=alert(1)&gt;&quot;&#39;</td></tr>
</table>
<p>Open:</p>
<p><a href="https://troupe.example.com/join?token=a&amp;b=&quot;">
https://troupe.example.com/join?token=a&amp;b=&quot;</a></p>
<p>The end.</p>
</body>
</html>
`,
  );
});
