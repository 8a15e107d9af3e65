// A hostile mailbox server of a tenant: its cost for a node.
import type { Socket } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { systemTime } from '../../../cluster/index.js';
import { tenantScope } from '../../../src/kernel/tenant-scope.js';
import { withinBudget } from '../../../src/automation/mail/mailbox-budget.js';
import { connectMailbox, MailboxError } from '../../../src/automation/mail/mailbox-connection.js';
import type { EvaluatedMail } from '../../../src/automation/mail/mail-intake.js';
import {
  MailboxPoll,
  type MailboxPollParts,
  type MailboxState,
} from '../../../src/automation/mail/mailbox-poll.js';
import { SlowMail, UnreadableMail } from '../../../src/automation/mail-reading/parsed-mail.js';
import { emailTrigger } from '../../support/builders/email-trigger.js';
import { ManualTime } from '../../support/clocks/manual-time.js';
import { type HostileServer, pour, startHostileServer } from '../../support/servers/hostile-server.js';
import { mailboxSecret } from '../../support/builders/mailbox-secrets.js';

const found = emailTrigger();
const failedMail: EvaluatedMail = {
  trigger: found.trigger,
  messageId: 'failed',
  thread: 'failed',
  sessionId: null,
  message: '',
  refusal: { status: 'failed', error: null },
};
const megabyte = 1024 * 1024;
/** A node that follows takes all of it; the test ends there. */
const poured = 96 * megabyte;

async function started(
  t: ExecutionContext,
  serve: (socket: Socket) => void | Promise<void>,
): Promise<HostileServer> {
  const server = await startHostileServer(serve);
  t.teardown(() => server.close());
  return server;
}

function connect(server: HostileServer) {
  return connectMailbox(
    {
      time: systemTime,
      vault: { resolve: async () => mailboxSecret('password') },
      egress: { permittedAddresses: async () => ['127.0.0.1'] },
    },
    tenantScope('018f0000-0000-7000-8000-000000000001'),
    {
      host: '127.0.0.1',
      port: server.port,
      user: 'desk',
      mailbox: 'INBOX',
      tls: false,
      secret_ref: 'mailbox',
    },
  );
}

/** Implements the protocol up to the sign-in, then follows the test's script. */
function signsIn(
  then: (socket: Socket, tag: string, line: string) => void,
  selected = '',
): (socket: Socket) => void {
  return (socket) => {
    socket.write('* OK [CAPABILITY IMAP4rev1] ready\r\n');
    let rest = '';
    socket.on('data', (chunk) => {
      rest += chunk.toString('latin1');
      for (let end = rest.indexOf('\r\n'); end !== -1; end = rest.indexOf('\r\n')) {
        const line = rest.slice(0, end);
        rest = rest.slice(end + 2);
        const [tag = '', command = ''] = line.split(' ');
        if (/^(?:LOGIN|CAPABILITY|NAMESPACE|LIST|LSUB|ID|SELECT)$/i.test(command)) {
          socket.write(`${command === 'SELECT' ? selected : ''}${tag} OK ${command} done\r\n`);
        } else then(socket, tag, line);
      }
    });
  };
}

test.serial('a literal larger than a mail may be is refused, also in a greeting', async (t) => {
  const server = await started(t, async (socket) => {
    socket.write('* OK {900000000}\r\n');
    await pour(socket, Buffer.alloc(64 * 1024, 0x61), poured);
  });
  await t.throwsAsync(connect(server), { instanceOf: MailboxError });
  t.true(server.sent < 16 * megabyte, `${server.sent} bytes were taken`);
});

test.serial('a line without an end is refused', async (t) => {
  const server = await started(t, async (socket) => {
    socket.write('* OK ');
    await pour(socket, Buffer.alloc(64 * 1024, 0x61), poured);
  });
  await t.throwsAsync(connect(server), { instanceOf: MailboxError });
  t.true(server.sent < 16 * megabyte, `${server.sent} bytes were taken`);
});

test.serial('an answer of many literals is bounded as a whole', async (t) => {
  const server = await started(t, async (socket) => {
    socket.write('* OK ');
    const literal = Buffer.concat([Buffer.from('{1000000}\r\n'), Buffer.alloc(1_000_000, 0x61)]);
    await pour(socket, literal, poured);
  });
  await t.throwsAsync(connect(server), { instanceOf: MailboxError });
  t.true(server.sent < 24 * megabyte, `${server.sent} bytes were taken`);
});

test.serial('a server that greets with short lines for ever is disconnected', async (t) => {
  const lines = Buffer.from('* OK still here\r\n'.repeat(1_000));
  const server = await started(t, (socket) => pour(socket, lines, poured));
  await t.throwsAsync(connect(server), { instanceOf: MailboxError });
  t.true(server.sent < poured, `${server.sent} bytes were taken`);
});

test.serial('a poll of a mailbox ends if its server sends too much or takes too long', async (t) => {
  const lines = Buffer.from('* 1 FETCH (FLAGS ())\r\n'.repeat(1_000));
  const flooding = await started(
    t,
    signsIn((socket) => void pour(socket, lines, poured)),
  );
  const flooded = await connect(flooding);
  const search = () => flooded.noop();
  await t.throwsAsync(withinBudget(flooded, systemTime, { ms: 60_000, bytes: megabyte }, search), {
    message: 'The server of the mailbox sent more than 1048576 bytes at once.',
  });
  t.false(flooded.usable);
  const silent = await started(
    t,
    signsIn(() => undefined),
  );
  const waiting = await connect(silent);
  await t.throwsAsync(
    withinBudget(waiting, systemTime, { ms: 300, bytes: megabyte }, () => waiting.noop()),
    { message: 'The server of the mailbox did not finish within 0.3 seconds.' },
  );
  t.false(waiting.usable);
});

test.serial(
  'a server that gives its next mail an invalid number causes an error, not a new position',
  async (t) => {
    const server = await started(
      t,
      signsIn(
        (socket, tag) => void socket.write(`${tag} OK done\r\n`),
        '* OK [UIDVALIDITY 1] valid\r\n* OK [UIDNEXT 1:*] next\r\n',
      ),
    );
    const client = await connect(server);
    t.teardown(async () => client.close());
    await client.mailboxOpen('INBOX');
    const parts = {
      time: systemTime,
      checksSenders: false,
      hold: async () => undefined,
      reader: { read: async () => Promise.reject(new Error('nothing is read')) },
      intake: { evaluate: async () => undefined, unreadable: () => failedMail },
    };
    const look = new MailboxPoll(parts, found, client);
    await t.throwsAsync(look.take({}, Date.now(), true), {
      instanceOf: MailboxError,
      message: 'The mail server does not report the next mail number (UIDNEXT).',
    });
  },
);

/** A mailbox with one new mail, number 7, and its polls with this reader. */
async function pollsOfOneMail(t: ExecutionContext, time: ManualTime, read: () => never) {
  const server = await started(
    t,
    signsIn((socket, tag, line) => {
      if (line.includes('SEARCH')) socket.write('* SEARCH 7\r\n');
      else if (line.includes('BODY')) socket.write('* 1 FETCH (UID 7 BODY[]<0> {5}\r\nhello)\r\n');
      else if (line.includes('FETCH')) socket.write('* 1 FETCH (UID 7 RFC822.SIZE 5)\r\n');
      socket.write(`${tag} OK done\r\n`);
    }, '* 1 EXISTS\r\n* OK [UIDVALIDITY 1] valid\r\n* OK [UIDNEXT 8] next\r\n'),
  );
  const client = await connect(server);
  t.teardown(async () => client.close());
  await client.mailboxOpen('INBOX');
  const failed: string[] = [];
  const unreadable: MailboxPollParts['intake']['unreadable'] = (_found, _digest, reason) => {
    failed.push(reason);
    return failedMail;
  };
  const take = (before: MailboxState) =>
    new MailboxPoll(
      {
        time,
        checksSenders: true,
        hold: async () => undefined,
        reader: { read: async () => read() },
        intake: { evaluate: async () => undefined, unreadable },
      },
      found,
      client,
    ).take(before, Date.parse('2026-01-01T00:00:00Z'), false);
  return { failed, take };
}

test.serial(
  'a mail that takes long to read does not end the poll: the next poll starts behind the mail',
  async (t) => {
    const time = new ManualTime('2026-01-01T00:00:00Z');
    const { failed, take } = await pollsOfOneMail(t, time, () => {
      // A process that is ended at its limit, twice.
      time.advance(40_000);
      throw new UnreadableMail('The mail takes longer than 20 seconds to read.');
    });
    const taken = await take({ validity: '1', last_uid: 6 });
    t.deepEqual(failed, ['The mail takes longer than 20 seconds to read.']);
    t.is(taken.state.last_uid, 7);
    t.is(taken.evaluated.length, 1);
  },
);

test.serial('a mail that is not read in time is polled again, and given up the third time', async (t) => {
  const time = new ManualTime('2026-01-01T00:00:00Z');
  const { failed, take } = await pollsOfOneMail(t, time, () => {
    throw new SlowMail('The mail takes longer than 20 seconds to read.');
  });
  const first = await take({ validity: '1', last_uid: 6 });
  t.like(first, { seen: [], evaluated: [], more: false });
  t.is(first.state.last_uid, 6);
  const second = await take(first.state);
  t.is(second.state.last_uid, 6);
  t.deepEqual(failed, []);
  const third = await take(second.state);
  t.deepEqual(failed, ['The mail takes longer than 20 seconds to read.']);
  t.deepEqual(third.seen, [7]);
  t.deepEqual(
    third.evaluated.map(({ mail, tries }) => [mail, tries]),
    [[failedMail, 3]],
  );
  t.is(third.state.last_uid, 7);
  t.is(third.state.slow, undefined);
});

test.serial('a mail that was slow once is taken when it is read in time', async (t) => {
  const time = new ManualTime('2026-01-01T00:00:00Z');
  let busy = true;
  const { failed, take } = await pollsOfOneMail(t, time, () => {
    throw busy ? new SlowMail('slow') : new UnreadableMail('nests');
  });
  const first = await take({ validity: '1', last_uid: 6 });
  busy = false;
  t.like((await take(first.state)).state, { last_uid: 7, slow: undefined });
  t.deepEqual(failed, ['nests']);
});
