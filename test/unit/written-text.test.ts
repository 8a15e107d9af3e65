import test from 'ava';
import { writtenText } from '../../src/automation/mail/written-text.js';

test('text that mail programs put below a message is cut: signature, quote with its line, and earlier mail', (t) => {
  t.is(writtenText('Hello\r\n\r\n-- \r\nAda\r\nHotel'), 'Hello');
  t.is(
    writtenText('Yes.\n\nOn Fri, 20 Nov 2026 Ada\n<ada@example.com> wrote:\n\n> Do you?\n>\n> Ada\n'),
    'Yes.',
  );
  t.is(writtenText('Ja.\n\nAm 20.11.2026 um 10:00 schrieb Ada:\n> Wirklich?'), 'Ja.');
  t.is(writtenText('So?\n\nOn Monday the agent wrote:\n> No.'), 'So?');
  t.is(writtenText('Fine.\n\n-----Original Message-----\nFrom: Ada\nHi'), 'Fine.');
  t.is(writtenText('Ok\n\nFrom: Ada\nSent: Friday\nTo: Bob\nSubject: Rooms\n\nHi'), 'Ok');
});

test('text that may belong to the message stays: answers between quotes, lists, forwarded mails, a lone quote', (t) => {
  const between = '> First?\nYes.\n> Second?\nNo.';
  t.is(writtenText(between), between);
  t.is(writtenText('We need:\n- beds\n--\n- keys'), 'We need:\n- beds\n--\n- keys');
  const forwarded = 'From: Ada\nSent: Friday\nTo: Bob\n\nHi';
  t.is(writtenText(forwarded), forwarded);
  t.is(writtenText('> only this'), '> only this');
  t.is(writtenText('The menu:\n\n> fish'), 'The menu:');
});

test('a text crafted to be slow is cut quickly', (t) => {
  const startedAt = process.cpuUsage();
  writtenText(`On ${'1 '.repeat(50_000)}:\n${'>\n'.repeat(20_000)}`);
  writtenText(`${'From: '.repeat(20_000)}\n`.repeat(3));
  const { user } = process.cpuUsage(startedAt);
  t.true(user < 2_000_000, `took ${user} µs`);
});
