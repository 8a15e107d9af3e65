// Mail servers that refuse, interrupt or mix up answers in the middle of a poll: no mail counts as polled that was not read.
import type { Socket } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { systemTime, type Time } from '../../../cluster/index.js';
import { tenantScope } from '../../../src/kernel/tenant-scope.js';
import { connectMailbox, MailboxError } from '../../../src/automation/mail/mailbox-connection.js';
import { MailboxPoll, type MailboxState } from '../../../src/automation/mail/mailbox-poll.js';
import type { EvaluatedMail } from '../../../src/automation/mail/mail-intake.js';
import type { ReadMail } from '../../../src/automation/mail-reading/mail-reader.js';
import type { SenderVerdict } from '../../../src/automation/mail-reading/parsed-mail.js';
import { parseMail } from '../../../src/automation/mail-reading/parse-mail.js';
import { emailTrigger } from '../../support/builders/email-trigger.js';
import { ManualTime } from '../../support/clocks/manual-time.js';
import { eventually } from '../../support/clocks/eventually.js';
import { type ImapServer, startImapServer } from '../../support/servers/imap-server.js';
import { mailboxSecret } from '../../support/builders/mailbox-secrets.js';

const beganMs = Date.now() - 3_600_000;
/** Where a trigger starts whose mailbox was polled up to before its first mail. */
const beginning: MailboxState = { validity: '1', last_uid: 99, began_ms: beganMs };

interface Given {
  readonly time?: Time;
  /** Runs before a mail is read. */
  readonly reading?: (text: string) => Promise<void> | void;
  /** What is found out about the sender; `authenticated` unless given. */
  readonly verdict?: (text: string) => SenderVerdict;
}

/** A mailbox with these mails, numbered from 100, and polls of it. */
async function mailboxWith(t: ExecutionContext, texts: readonly string[], given: Given = {}) {
  const server = await startImapServer();
  t.teardown(() => server.close());
  for (const text of texts) deliver(server, text);
  const imap = {
    host: '127.0.0.1',
    port: server.port,
    user: server.user,
    mailbox: 'INBOX',
    secret_ref: 'mailbox',
    tls: false,
  };
  const found = emailTrigger(imap);
  const read: string[] = [];
  const unreadable: string[] = [];
  const holds: number[] = [];
  const parts = {
    time: given.time ?? systemTime,
    checksSenders: true,
    hold: async (ms: number) => void holds.push(ms),
    reader: {
      read: async (_tenant: string, raw: Uint8Array): Promise<ReadMail> => {
        const mail = await parseMail(Buffer.from(raw));
        await given.reading?.(mail.text.trim());
        read.push(mail.text.trim());
        return { mail, verdict: given.verdict?.(mail.text.trim()) ?? 'authenticated' };
      },
    },
    intake: {
      evaluate: async () => recorded,
      unreadable: (_found: unknown, _digest: string, reason: string) => {
        unreadable.push(reason);
        return recorded;
      },
    },
  };
  const recorded: EvaluatedMail = {
    trigger: found.trigger,
    messageId: 'any',
    thread: 'any',
    sessionId: null,
    message: '',
    refusal: { status: 'failed', error: null },
  };
  const connect = async () => {
    const client = await connectMailbox(
      {
        time: systemTime,
        vault: { resolve: async () => mailboxSecret(server.password) },
        egress: { permittedAddresses: async () => ['127.0.0.1'] },
      },
      tenantScope('018f0000-0000-7000-8000-000000000001'),
      imap,
    );
    t.teardown(async () => client.close());
    await client.mailboxOpen('INBOX');
    return client;
  };
  return {
    server,
    /** The texts of the mails that were read. */
    read,
    unreadable,
    /** For how long the polls held the source. */
    holds,
    connect,
    /** Polls over a new connection, or this one. */
    poll: async (before: MailboxState, client?: Awaited<ReturnType<typeof connect>>, nowMs = Date.now()) =>
      new MailboxPoll(parts, found, client ?? (await connect())).take(before, nowMs, client === undefined),
  };
}

function deliver(server: ImapServer, text: string): void {
  server.deliver(
    `From: <ada@example.com>\nSubject: Rooms\nMessage-ID: <${text.slice(0, 5)}@example.com>\n\n${text}\n`,
  );
}

test.serial('a refused search is an error, not an empty mailbox', async (t) => {
  const { server, read, poll } = await mailboxWith(t, ['one', 'two']);
  server.intercept = ({ name, tag, socket }) => {
    if (name !== 'UID SEARCH') return false;
    socket.write(`${tag} NO [SERVERBUG] internal error\r\n`);
    return true;
  };
  const refused = { instanceOf: MailboxError, message: /refused a search/ };
  await t.throwsAsync(poll({ began_ms: beganMs }), refused);
  await t.throwsAsync(poll(beginning), refused);
  server.intercept = () => false;
  t.is((await poll({ began_ms: beganMs })).state.last_uid, 101);
  t.deepEqual(read, ['one', 'two']);
});

test.serial('an empty mailbox is empty although its server refuses to search it', async (t) => {
  const { server, poll } = await mailboxWith(t, []);
  server.intercept = ({ name, tag, socket }) => {
    if (name !== 'UID SEARCH') return false;
    socket.write(`${tag} BAD no such message\r\n`);
    return true;
  };
  t.is((await poll({ began_ms: beganMs })).state.last_uid, 99);
  t.is((await poll(beginning)).state.last_uid, 99);
});

for (const how of ['ends the connection', 'says goodbye'] as const) {
  test.serial(`a server that ${how} while a mail is read loses none of the others`, async (t) => {
    let end: (() => Promise<void>) | undefined;
    const { server, read, poll, connect } = await mailboxWith(t, ['one', 'two', 'three'], {
      reading: () => end?.(),
    });
    const client = await connect();
    const sockets = new Set<Socket>();
    server.intercept = ({ socket }) => {
      sockets.add(socket);
      return false;
    };
    end = async () => {
      end = undefined;
      for (const socket of sockets) {
        if (how === 'ends the connection') socket.end();
        else socket.write('* BYE restarting\r\n');
      }
      await eventually(() => !client.usable || client.byeReason !== undefined);
    };
    const first = await poll(beginning, client);
    t.like(first, { seen: [100], more: true, state: { last_uid: 100 } });
    await t.throwsAsync(poll(first.state, client), { instanceOf: MailboxError });
    t.deepEqual((await poll(first.state)).seen, [101, 102]);
    t.deepEqual(read, ['one', 'two', 'three']);
  });
}

test.serial('a mail that was deleted meanwhile is passed over', async (t) => {
  const { server, read, poll } = await mailboxWith(t, ['one', 'two']);
  server.intercept = ({ name, given, tag, socket }) => {
    if (name === 'UID SEARCH' && given.endsWith('UID 100')) socket.write('* SEARCH\r\n');
    else if (name !== 'UID FETCH' || !given.startsWith('100 ')) return false;
    socket.write(`${tag} OK done\r\n`);
    return true;
  };
  t.is((await poll(beginning)).state.last_uid, 101);
  t.deepEqual(read, ['two']);
});

test.serial('a mail that its server lists and does not send is given up the third time', async (t) => {
  const { server, read, unreadable, poll } = await mailboxWith(t, ['one', 'two']);
  server.intercept = ({ name, given, tag, socket }) => {
    if (name !== 'UID FETCH' || !given.startsWith('100 ')) return false;
    socket.write(`${tag} OK done\r\n`);
    return true;
  };
  let { state } = await poll(beginning);
  t.like(state, { last_uid: 99, slow: { uid: 100, tries: 1 } });
  ({ state } = await poll(state));
  t.deepEqual(unreadable, []);
  ({ state } = await poll(state));
  t.deepEqual(unreadable, ['The server of the mailbox lists this mail but does not send it.']);
  t.like(state, { last_uid: 101 });
  t.deepEqual(read, ['two']);
});

test.serial('what a server tells of other mails, or besides, is not taken for its answer', async (t) => {
  const { server, read, poll } = await mailboxWith(t, ['one', 'two', 'three']);
  server.intercept = ({ name, given, socket }) => {
    if (name !== 'UID FETCH') return false;
    const uid = Number.parseInt(given, 10);
    socket.write('* 9 FETCH (FLAGS (\\Seen))\r\n');
    socket.write(`* 8 FETCH (UID ${uid + 50} RFC822.SIZE 99000000 BODY[] {5}\r\nother)\r\n`);
    socket.write(`* ${uid - 99} FETCH (UID ${uid} FLAGS (\\Flagged))\r\n`);
    return false;
  };
  const { seen, state } = await poll(beginning);
  t.deepEqual(read, ['one', 'two', 'three']);
  t.deepEqual(seen, [100, 101, 102]);
  t.is(state.last_uid, 102);
});

/** Leaves the fetches of large bodies without an answer until the test gives one. */
function holdLarge(server: ImapServer): (() => void)[] {
  const held: (() => void)[] = [];
  server.intercept = ({ name, given, answer }) =>
    name === 'UID FETCH' && given.startsWith('101 ') && given.includes('BODY') && held.push(answer) > 0;
  return held;
}

/** 2.4 MB: 24 seconds at the slowest rate. */
const large = `large${'\nx'.repeat(800_000)}`;

test.serial(
  'a mail that is sent slowly takes no other mails with it, and has the time of its size',
  async (t) => {
    const time = new ManualTime('2026-01-01T00:00:00Z');
    const { server, read, holds, poll } = await mailboxWith(t, ['one', large, 'three'], { time });
    const held = holdLarge(server);
    const first = poll(beginning);
    await eventually(() => held.length === 1, { what: 'the first fetch of the large mail' });
    time.advance(16_000);
    const kept = await first;
    t.like(kept, { seen: [100], more: true, state: { last_uid: 100, slow: undefined } });
    t.deepEqual(holds, []);
    const second = poll(kept.state);
    await eventually(() => held.length === 2, { what: 'the second fetch of the large mail' });
    time.advance(20_000);
    held[1]?.();
    const taken = await second;
    t.like(taken, { seen: [101], more: true });
    t.deepEqual(
      holds.map((ms) => Math.round(ms / 1_000)),
      [24],
    );
    t.deepEqual((await poll(taken.state)).seen, [102]);
    t.deepEqual(
      read.map((text) => text.slice(0, 5)),
      ['one', 'large', 'three'],
    );
  },
);

test.serial('a mail that its server never sends in time is given up the third time', async (t) => {
  const time = new ManualTime('2026-01-01T00:00:00Z');
  const { server, read, unreadable, poll } = await mailboxWith(t, ['one', large, 'three'], { time });
  const held = holdLarge(server);
  let state: MailboxState = { ...beginning, last_uid: 100 };
  for (let tries = 1; tries <= 3; tries += 1) {
    const polling = poll(state);
    await eventually(() => held.length === tries, { what: `fetch ${tries} of the large mail` });
    t.deepEqual(unreadable, []);
    time.advance(25_000);
    const taken = await polling;
    ({ state } = taken);
    t.like(
      taken,
      tries < 3 ? { more: false, state: { last_uid: 100, slow: { uid: 101, tries } } } : { more: true },
    );
  }
  t.is(unreadable.length, 1);
  t.regex(unreadable[0] ?? '', /^The mail has 24\d+ bytes\. .* did not finish within 24(\.\d)? seconds\.$/);
  t.like(await poll(state), { seen: [102], state: { last_uid: 102 } });
  t.deepEqual(read, ['three']);
});

test.serial('numbers that go back are new ones, if the server told them just now', async (t) => {
  const { read, poll, connect } = await mailboxWith(t, ['one', 'two']);
  const before = { ...beginning, last_uid: 5_000, looked_ms: Date.now() };
  // Other polls may have passed what a connection was told when it was opened.
  t.like(await poll(before, await connect()), { seen: [], state: { last_uid: 5_000 } });
  t.like(await poll(before), { seen: [100, 101], state: { last_uid: 101 } });
  t.deepEqual(read, ['one', 'two']);
});

const minuteMs = 60_000;

test.serial('a mail whose sender is undecided is read again later, and holds up no other', async (t) => {
  let answers = false;
  const { server, read, poll } = await mailboxWith(t, ['one', 'two', 'three'], {
    verdict: (text) => (text === 'two' && !answers ? 'undecided' : 'authenticated'),
  });
  const nowMs = Date.now();
  const first = await poll(beginning, undefined, nowMs);
  const waiting = { last_uid: 102, undecided: [{ uid: 101, tries: 1, since_ms: nowMs }] };
  t.like(first, { seen: [100, 102], more: false, state: waiting });
  // Nothing is read before its time, and a new mail goes first.
  t.like(await poll(first.state, undefined, nowMs + minuteMs - 1), { seen: [], more: false, state: waiting });
  deliver(server, 'four');
  const second = await poll(first.state, undefined, nowMs + minuteMs);
  t.like(second, { seen: [103], more: true });
  const third = await poll(second.state, undefined, nowMs + minuteMs);
  t.like(third, { seen: [], more: false, state: { undecided: [{ uid: 101, tries: 2, since_ms: nowMs }] } });
  t.deepEqual(read, ['one', 'two', 'three', 'four', 'two']);
  answers = true;
  const last = await poll(third.state, undefined, nowMs + 3 * minuteMs);
  t.like(last, { seen: [101], more: false, state: { last_uid: 103, undecided: undefined } });
  t.deepEqual(
    last.evaluated.map(({ uid }) => uid),
    [101],
  );
});

test.serial(
  'a sender that stays undecided for a day is refused, as are those beyond the number that is kept',
  async (t) => {
    const { read, poll } = await mailboxWith(t, ['one'], { verdict: () => 'undecided' });
    const nowMs = Date.now();
    const full = Array.from({ length: 100 }, (_, uid) => ({ uid, tries: 1, since_ms: nowMs }));
    t.deepEqual((await poll({ ...beginning, undecided: full }, undefined, nowMs)).seen, [100]);
    let { state, evaluated } = await poll(beginning, undefined, nowMs);
    for (let hours = 1; hours <= 24; hours += 1) {
      t.deepEqual(evaluated, []);
      ({ state, evaluated } = await poll(state, undefined, nowMs + hours * 60 * minuteMs));
    }
    t.is(evaluated.length, 1);
    t.is(state.undecided, undefined);
    t.true(read.length <= 13, `${read.length} times read`);
  },
);

test.serial('a mail that waits for its sender does not come back with other numbers', async (t) => {
  const { server, poll } = await mailboxWith(t, ['one', 'two'], { verdict: () => 'undecided' });
  const { state } = await poll(beginning);
  t.is(state.undecided?.length, 2);
  server.renumber();
  t.deepEqual(
    (await poll(state)).state.undecided?.map(({ uid }) => uid),
    [500, 501],
  );
});

test.serial(
  'a server that fails at a mail read again fails no poll, and the mail is tried less and less',
  async (t) => {
    const { server, poll } = await mailboxWith(t, ['one'], { verdict: () => 'undecided' });
    const nowMs = Date.now();
    const { state } = await poll(beginning, undefined, nowMs);
    server.intercept = ({ name, tag, socket }) => {
      if (name !== 'UID FETCH') return false;
      socket.write(`${tag} NO not now\r\n`);
      return true;
    };
    const failed = await poll(state, undefined, nowMs + minuteMs);
    t.like(failed, { more: false, state: { undecided: [{ uid: 100, tries: 2, since_ms: nowMs }] } });
    const last = await poll(failed.state, undefined, nowMs + 24 * 60 * minuteMs);
    t.is(last.evaluated.length, 1);
    t.is(last.state.undecided, undefined);
  },
);
