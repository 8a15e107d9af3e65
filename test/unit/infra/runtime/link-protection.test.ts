import test, { type ExecutionContext } from 'ava';
import {
  describeLinkProtection,
  linkProtectionOf,
  LinkProtectionError,
} from '../../../../src/infra/runtime/index.js';
import { readSettings } from '../../../../src/kernel/config/index.js';

const fixtures = 'test/fixtures/tls';
const files = {
  TROUPE_GRPC_TLS_CA: `${fixtures}/ca.crt`,
  TROUPE_GRPC_TLS_CERT: `${fixtures}/node.crt`,
  TROUPE_GRPC_TLS_KEY: `${fixtures}/node.key`,
};

function protection(environment: Readonly<Record<string, string>>) {
  return linkProtectionOf(readSettings(environment));
}

async function refusal(t: ExecutionContext, environment: Readonly<Record<string, string>>): Promise<string> {
  const error = await t.throwsAsync(protection(environment), { instanceOf: LinkProtectionError });
  return error?.message ?? '';
}

test('links stay on the loopback by default', async (t) => {
  t.deepEqual(await protection({}), { plaintext: 'loopback' });
  for (const host of ['127.0.0.1', '127.9.9.9', '::1', '[::1]', 'localhost']) {
    t.deepEqual(await protection({ TROUPE_GRPC_HOST: host }), { plaintext: 'loopback' }, host);
  }
});

test("a node with remote peers needs TLS, or the operator's consent", async (t) => {
  const exposed = [
    { TROUPE_GRPC_HOST: '0.0.0.0', TROUPE_ADVERTISE_ADDR: '10.0.0.7:9090' },
    { TROUPE_GRPC_HOST: '10.0.0.7' },
    { TROUPE_GRPC_HOST: 'node-a.internal' },
    { TROUPE_GRPC_HOST: '::', TROUPE_ADVERTISE_ADDR: '[::1]:9090' },
    { TROUPE_ADVERTISE_ADDR: 'node-a.internal:9090' },
  ];
  for (const environment of exposed) {
    const says = await refusal(t, environment);
    for (const name of ['TROUPE_GRPC_TLS_CA', 'TROUPE_GRPC_TLS_CERT', 'TROUPE_GRPC_TLS_KEY']) {
      t.true(says.includes(name), says);
    }
    t.regex(says, /TROUPE_GRPC_INSECURE=on/);
    t.deepEqual(await protection({ ...environment, TROUPE_GRPC_INSECURE: 'on' }), { plaintext: 'anywhere' });
  }
});

test('a listening address that cannot be dialed needs another one to announce', async (t) => {
  for (const host of ['0.0.0.0', '::']) {
    t.regex(await refusal(t, { ...files, TROUPE_GRPC_HOST: host }), /TROUPE_ADVERTISE_ADDR is missing/);
  }
});

test('with TLS, a certificate that peers would refuse is refused at the start', async (t) => {
  t.truthy((await protection(files)).tls);
  t.regex(await refusal(t, { ...files, TROUPE_GRPC_TLS_KEY: '' }), /TROUPE_GRPC_TLS_KEY is missing/);
  t.regex(
    await refusal(t, { ...files, TROUPE_GRPC_TLS_KEY: '/nowhere' }),
    /TROUPE_GRPC_TLS_KEY.*cannot be read/,
  );
  t.regex(
    await refusal(t, { ...files, TROUPE_ADVERTISE_ADDR: 'another.troupe.test:9090' }),
    /another\.troupe\.test.*does not match/,
  );
  const foreign = { ...files, TROUPE_GRPC_TLS_KEY: `${fixtures}/good.test.key.pem` };
  t.regex(await refusal(t, foreign), /key/);
  const garbage = { ...files, TROUPE_GRPC_TLS_CERT: 'package.json' };
  t.regex(await refusal(t, garbage), /TLS between nodes cannot work/);
  const stranger = { ...files, TROUPE_GRPC_TLS_CA: `${fixtures}/good.test.certificate.pem` };
  t.regex(await refusal(t, stranger), /TLS between nodes cannot work/);
});

test('a server-only certificate is refused at the start: a node is also a client', async (t) => {
  const says = await refusal(t, {
    TROUPE_GRPC_TLS_CA: `${fixtures}/server-only.crt`,
    TROUPE_GRPC_TLS_CERT: `${fixtures}/server-only.crt`,
    TROUPE_GRPC_TLS_KEY: `${fixtures}/server-only.key`,
  });
  t.regex(says, /no peer would accept the certificate of 127\.0\.0\.1: .*purpose/i);
});

test('the protection of the links is described in words', async (t) => {
  const says = (environment: Readonly<Record<string, string>>) =>
    describeLinkProtection(readSettings(environment));
  t.like(await says({}), { isGuarded: true });
  t.regex((await says(files)).says, /TLS.*127\.0\.0\.1.*until .* 2126 GMT/);
  t.like(await says({ TROUPE_GRPC_HOST: '10.0.0.7', TROUPE_GRPC_INSECURE: 'on' }), { isGuarded: false });
});
