// What a tenant's own mailbox server can cost a node: it may be written for that.
import type { Socket } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { systemTime } from '../../../cluster/index.js';
import { tenantScope } from '../../../src/context/tenant-scope.js';
import { withinBudget } from '../../../src/triggers/mail/mailbox-budget.js';
import { connectMailbox, MailboxError } from '../../../src/triggers/mail/mailbox-connection.js';
import { SecretValue } from '../../../src/vault/index.js';
import { type HostileServer, pour, startHostileServer } from '../../support/hostile-server.js';

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
  const secret = {
    id: '018f0000-0000-7000-8000-0000000000aa',
    name: 'mailbox',
    kind: 'generic' as const,
    provider: null,
    allowedHosts: null,
    version: 1,
    value: new SecretValue('password'),
  };
  return connectMailbox(
    {
      time: systemTime,
      vault: { resolve: async () => secret },
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

/** Speaks as much of the protocol as signing in needs, then does what the test wants. */
function signsIn(then: (socket: Socket, tag: string, line: string) => void): (socket: Socket) => void {
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
          socket.write(`${tag} OK ${command} done\r\n`);
        } else then(socket, tag, line);
      }
    });
  };
}

test.serial('a literal larger than a mail may be is not taken, in a greeting either', async (t) => {
  const server = await started(t, async (socket) => {
    socket.write('* OK {900000000}\r\n');
    await pour(socket, Buffer.alloc(64 * 1024, 0x61), poured);
  });
  await t.throwsAsync(connect(server), { instanceOf: MailboxError });
  t.true(server.sent < 16 * megabyte, `${server.sent} bytes were taken`);
});

test.serial('a line without an end is not taken', async (t) => {
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

test.serial('a server that greets with short lines for ever is hung up on', async (t) => {
  const lines = Buffer.from('* OK still here\r\n'.repeat(1_000));
  const server = await started(t, (socket) => pour(socket, lines, poured));
  await t.throwsAsync(connect(server), { instanceOf: MailboxError });
  t.true(server.sent < poured, `${server.sent} bytes were taken`);
});

test.serial('work on a mailbox ends where its server sends more than it may, or takes longer', async (t) => {
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
