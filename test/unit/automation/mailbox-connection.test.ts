import { readFileSync } from 'node:fs';
import test, { type ExecutionContext } from 'ava';
import { systemTime } from '../../../cluster/index.js';
import { tenantScope } from '../../../src/kernel/tenant-scope.js';
import { connectMailbox, MailboxError } from '../../../src/automation/mail/mailbox-connection.js';
import { SecretValue } from '../../../src/tenancy/vault/index.js';
import { type ImapServer, startImapServer } from '../../support/servers/imap-server.js';

const read = (name: string): string => readFileSync(`test/fixtures/tls/${name}`, 'utf8');
const authority = read('ca.crt');
const own = { cert: read('node.crt'), key: read('node.key') };
const ofAnother = { cert: read('good.test.certificate.pem'), key: read('good.test.key.pem') };

interface Wish {
  readonly tls: boolean;
  readonly authorities?: readonly string[];
  readonly host?: string;
  readonly address?: string;
}

/** This machine too, by an address that does not say so: to the code it is another's. */
const elsewhere = { host: 'node.troupe.test', address: '0.0.0.0' };

function connect(server: ImapServer, options: Wish) {
  const { tls, authorities, host = '127.0.0.1', address = host } = options;
  return connectMailbox(
    {
      vault: {
        resolve: async () => ({
          id: '018f0000-0000-7000-8000-0000000000aa',
          name: 'mailbox',
          kind: 'generic' as const,
          provider: null,
          allowedHosts: null,
          version: 1,
          value: new SecretValue(server.password),
        }),
      },
      time: systemTime,
      egress: { permittedAddresses: async () => [address] as const },
      ...(authorities === undefined ? {} : { authorities }),
    },
    tenantScope('018f0000-0000-7000-8000-000000000001'),
    { host, port: server.port, user: server.user, mailbox: 'INBOX', tls, secret_ref: 'mailbox' },
  );
}

async function started(t: ExecutionContext, ...how: Parameters<typeof startImapServer>): Promise<ImapServer> {
  const server = await startImapServer(...how);
  t.teardown(() => server.close());
  return server;
}

test('a mailbox is signed into over TLS if its certificate is trusted', async (t) => {
  const server = await started(t, own);
  const client = await connect(server, { tls: true, authorities: [authority] });
  t.teardown(() => client.close());
  t.true(client.secureConnection);
  t.is(server.signIns, 1);
  const { exists } = await client.mailboxOpen('INBOX');
  t.is(exists, 0);
});

test('no password is sent to a server with an untrusted certificate or one of another host', async (t) => {
  const unknown = await started(t, own);
  await t.throwsAsync(connect(unknown, { tls: true }), { instanceOf: MailboxError });
  const another = await started(t, ofAnother);
  await t.throwsAsync(connect(another, { tls: true, authorities: [ofAnother.cert] }), {
    instanceOf: MailboxError,
  });
  t.deepEqual([unknown.signIns, another.signIns], [0, 0]);
});

test('no password is sent in the clear to a server that should use TLS', async (t) => {
  const plain = await started(t);
  await t.throwsAsync(connect(plain, { tls: true, authorities: [authority] }), { instanceOf: MailboxError });
  t.is(plain.signIns, 0);
});

test('a remote mailbox whose server starts in the clear is signed into by STARTTLS', async (t) => {
  const server = await started(t, own, 'by STARTTLS');
  const client = await connect(server, { ...elsewhere, tls: false, authorities: [authority] });
  t.teardown(() => client.close());
  t.true(client.secureConnection);
  t.is(server.signIns, 1);
});

test('no password is sent to a remote server without STARTTLS or with an untrusted certificate', async (t) => {
  const plain = await started(t);
  const wish = { ...elsewhere, tls: false, authorities: [authority] };
  await t.throwsAsync(connect(plain, wish), { instanceOf: MailboxError });
  const unknown = await started(t, own, 'by STARTTLS');
  await t.throwsAsync(connect(unknown, { ...elsewhere, tls: false }), { instanceOf: MailboxError });
  const another = await started(t, ofAnother, 'by STARTTLS');
  const believed = { ...elsewhere, tls: false, authorities: [ofAnother.cert] };
  await t.throwsAsync(connect(another, believed), { instanceOf: MailboxError });
  t.deepEqual([plain.signIns, unknown.signIns, another.signIns], [0, 0, 0]);
});
