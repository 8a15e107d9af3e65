// The IMAP client against servers that answer anything, and the reader of mails against mails of any form.
import type { Socket } from 'node:net';
import test from 'ava';
import fc from 'fast-check';
import { systemTime } from '../../../cluster/index.js';
import { refuseTooComplex } from '../../../src/automation/mail-reading/count-parts.js';
import { parsedMail, UnreadableMail } from '../../../src/automation/mail-reading/parsed-mail.js';
import { parseMail } from '../../../src/automation/mail-reading/parse-mail.js';
import { withinBudget } from '../../../src/automation/mail/mailbox-budget.js';
import { connectMailbox } from '../../../src/automation/mail/mailbox-connection.js';
import { MailboxPoll } from '../../../src/automation/mail/mailbox-poll.js';
import { emailTrigger } from '../../support/builders/email-trigger.js';
import { fuzzRuns, fuzzTimeoutMs } from '../../support/builders/fuzz-runs.js';
import { startHostileServer } from '../../support/servers/hostile-server.js';
import { anyText } from '../../support/builders/any-text.js';
import { mailboxSecret } from '../../support/builders/mailbox-secrets.js';

const number = fc.oneof(
  fc.integer({ min: 0, max: 20 }).map(String),
  fc.constantFrom('4294967295', '99999999999999999999', '-1', '1e9', '*', '1:*', '0', ''),
);
const literal = fc
  .tuple(fc.integer({ min: 0, max: 200 }), fc.integer({ min: -5, max: 5 }))
  .map(([length, lie]) => `{${Math.max(0, length + lie)}}\r\n${'x'.repeat(length)}`);
const nested = fc
  .tuple(fc.integer({ min: 1, max: 30_000 }), fc.boolean())
  .map(([depth, closed]) => '('.repeat(depth) + (closed ? ')'.repeat(depth) : ''));
const atom = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.constantFrom('FLAGS', '(', ')', 'NIL', '\\Seen', '"', '[', ']', 'UID', 'BODY[]', '<0>'),
  },
  { weight: 2, arbitrary: number },
  { weight: 1, arbitrary: literal },
  { weight: 1, arbitrary: nested },
  { weight: 1, arbitrary: fc.string({ maxLength: 40 }) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 70_000 }).map((length) => 'y'.repeat(length)) },
);
const atoms = fc.array(atom, { maxLength: 10 }).map((all) => all.join(' '));
/** `@` means the tag of the answered command. */
const answer = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.constantFrom('@ OK done', '@ NO [AUTHENTICATIONFAILED] no', '@ BAD what', '+ go on'),
  },
  { weight: 3, arbitrary: fc.tuple(number, number).map(([one, other]) => `* SEARCH ${one} ${other}`) },
  { weight: 2, arbitrary: number.map((many) => `* ${many} EXISTS`) },
  {
    weight: 2,
    arbitrary: number.map((many) => `* OK [UIDNEXT ${many}] next\r\n* OK [UIDVALIDITY ${many}] valid`),
  },
  {
    weight: 3,
    arbitrary: fc
      .tuple(number, number, number, literal)
      .map(([at, uid, size, body]) => `* ${at} FETCH (UID ${uid} RFC822.SIZE ${size} BODY[] ${body})`),
  },
  { weight: 2, arbitrary: atoms.map((all) => `* ${all}`) },
  { weight: 1, arbitrary: atoms.map((all) => `@ OK ${all}`) },
  { weight: 1, arbitrary: atoms.map((all) => `* CAPABILITY IMAP4rev1 ${all}`) },
  { weight: 1, arbitrary: atoms },
);
const server = fc.record({
  greeting: fc.oneof(
    { weight: 5, arbitrary: fc.constant('* OK [CAPABILITY IMAP4rev1] ready') },
    { weight: 1, arbitrary: atoms.map((all) => `* OK ${all}`) },
    { weight: 1, arbitrary: fc.constantFrom('* PREAUTH hello', '* BYE', '220 smtp', '') },
  ),
  /** For each command in turn: the lines before its end, and whether it succeeds. */
  answers: fc.array(fc.tuple(fc.array(answer, { maxLength: 5 }), fc.boolean()), { maxLength: 20 }),
});

type Server = typeof server extends fc.Arbitrary<infer One> ? One : never;

/** Disconnects after its last line, so that no test waits for a time limit. */
function serving({ greeting, answers }: Server): (socket: Socket) => void {
  return (socket) => {
    let at = 0;
    let rest = '';
    socket.write(`${greeting}\r\n`);
    socket.on('data', (chunk) => {
      rest += chunk.toString('latin1');
      for (let end = rest.indexOf('\r\n'); end !== -1; end = rest.indexOf('\r\n')) {
        const [tag = 'A'] = rest.slice(0, end).split(' ');
        rest = rest.slice(end + 2);
        const given = answers[at];
        at += 1;
        if (given === undefined) return void socket.end();
        const [lines, finishes] = given;
        for (const line of lines) socket.write(`${line.replaceAll('@', tag)}\r\n`);
        if (finishes) socket.write(`${tag} OK done\r\n`);
        else setTimeout(() => socket.end(), 50);
      }
    });
    // The test does not wait for a client that ignores such a greeting either.
    setTimeout(() => socket.end(), 1_500);
  };
}

test.serial('a mailbox server may answer anything: a poll ends with mails or an error', async (t) => {
  const numRuns = fuzzRuns(20);
  t.timeout(fuzzTimeoutMs(numRuns));
  let current: (socket: Socket) => void = (socket) => socket.end();
  const hostile = await startHostileServer((socket) => current(socket));
  t.teardown(() => hostile.close());
  const imap = {
    host: '127.0.0.1',
    port: hostile.port,
    user: 'desk',
    mailbox: 'INBOX',
    tls: false,
    secret_ref: 'x',
  };
  const found = emailTrigger(imap);
  const look = async (validity: string | undefined): Promise<void> => {
    const client = await connectMailbox(
      {
        time: systemTime,
        vault: { resolve: async () => mailboxSecret('password') },
        egress: { permittedAddresses: async () => ['127.0.0.1'] },
      },
      found.trigger.scope,
      imap,
    );
    try {
      await withinBudget(client, systemTime, { ms: 5_000, bytes: 1_000_000 }, () =>
        client.mailboxOpen('INBOX'),
      );
      const parts = {
        intake: { evaluate: async () => undefined, unreadable: () => judged },
        reader: { read: async () => Promise.reject(new UnreadableMail('no')) },
        checksSenders: false,
        hold: async () => undefined,
        time: systemTime,
      };
      const taken = await new MailboxPoll(parts, found, client).take(
        { validity, last_uid: 3 },
        Date.now(),
        true,
      );
      const numbers = [...taken.seen, taken.state.last_uid ?? 0];
      if (!numbers.every((one) => Number.isSafeInteger(one) && one >= 0)) {
        throw new TypeError(`numbers that are none: ${numbers.join()}`);
      }
    } finally {
      client.close();
    }
  };
  const judged = {
    trigger: found.trigger,
    messageId: '',
    thread: '',
    sessionId: null,
    message: '',
    refusal: { status: 'failed' as const, error: null },
  };
  await fc.assert(
    fc.asyncProperty(server, fc.constantFrom(undefined, '1', '0'), async (one, validity) => {
      current = serving(one);
      await look(validity).catch((error: unknown) => {
        // Errors of the client or the poll about the server; any other is a fault of this code.
        if (error instanceof TypeError || error instanceof RangeError || !(error instanceof Error))
          throw error;
      });
    }),
    { numRuns, endOnFailure: true, includeErrorInReport: true },
  );
  t.pass();
});

const headerName = fc.constantFrom(
  'From',
  'To',
  'Subject',
  'References',
  'Message-ID',
  'In-Reply-To',
  'Content-Type',
  'Content-Disposition',
  'Auto-Submitted',
  'X',
  'Return-Path',
);
const headerValue = fc.oneof(
  fc.constantFrom(
    'a@b',
    '"x" <a@b>, c@d',
    '<<a>>',
    'g: a@b, c@d;',
    'text/html; charset=utf-7',
    'multipart/mixed; boundary=b',
  ),
  fc.constantFrom(
    '=?utf-8?Q?=00=00?=',
    '<a\0b@c\0d>',
    '"a\0b" <c\0d@e\0f>',
    '=?utf-8?B?////?=',
    'message/rfc822',
    'multipart/digest; boundary="',
    'text/plain; charset=x',
    'attachment; filename="a\0b"',
  ),
  anyText({ maxLength: 200 }),
);
const body = fc.oneof(
  fc.constantFrom(
    '--b\r\n',
    '--b--\r\n',
    '\r\n',
    '<div>',
    '</div>',
    '<a href="',
    '&amp;&#0;',
    '<![CDATA[',
    '<!--',
    '=00',
    '\0',
  ),
  anyText({ maxLength: 200 }),
);
const mailText = fc
  .tuple(
    fc.array(fc.tuple(headerName, headerValue), { maxLength: 30 }),
    fc.array(body, { maxLength: 10 }),
    fc.integer({ min: 1, max: 500 }),
  )
  .map(([head, parts, times]) => {
    const lines = head.map(([name, value]) => `${name}: ${value}`).join('\r\n');
    return `${lines}\r\n\r\n${parts.join('').repeat(times)}`;
  });

test.serial('a mail may contain anything: it is read within its bounds, or refused', async (t) => {
  const numRuns = fuzzRuns(60);
  t.timeout(fuzzTimeoutMs(numRuns));
  await fc.assert(
    fc.asyncProperty(mailText, async (text) => {
      const raw = Buffer.from(text);
      try {
        refuseTooComplex(raw);
        const mail = parsedMail.parse(await parseMail(raw));
        if (mail.text.length > 100_000 || mail.subject.length > 1_000) throw new TypeError('out of bounds');
        // PostgreSQL takes no NUL: one in any of these would fail each time that the mail is kept.
        if (JSON.stringify(mail).includes('\\u0000')) throw new TypeError('a NUL is in it');
      } catch (error) {
        if (!(error instanceof UnreadableMail)) throw error;
      }
    }),
    { numRuns, endOnFailure: true, includeErrorInReport: true },
  );
  t.pass();
});
