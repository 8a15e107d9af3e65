import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { RenewableTls, systemTime } from '../../../../cluster/index.js';
import { CertificateRenewal } from '../../../../src/infra/runtime/certificate-renewal.js';
import { linkProtectionOf } from '../../../../src/infra/runtime/index.js';
import { readSettings } from '../../../../src/kernel/config/index.js';
import { createLog } from '../../../../src/infra/diagnostics/index.js';

const fixtures = 'test/fixtures/tls';

/** The files of a node, as a volume holds them, and a renewal that looks when the test asks it to. */
async function renewalOf(t: ExecutionContext) {
  const folder = await mkdtemp(join(tmpdir(), 'troupe-certificates-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const put = async (ca: string, name: string): Promise<void> => {
    await copyFile(`${fixtures}/${ca}.crt`, join(folder, 'ca.crt'));
    await copyFile(`${fixtures}/${name}.crt`, join(folder, 'tls.crt'));
    await copyFile(`${fixtures}/${name}.key`, join(folder, 'tls.key'));
  };
  await put('ca', 'node');
  const settings = readSettings({
    TROUPE_GRPC_TLS_CA: join(folder, 'ca.crt'),
    TROUPE_GRPC_TLS_CERT: join(folder, 'tls.crt'),
    TROUPE_GRPC_TLS_KEY: join(folder, 'tls.key'),
  });
  const { tls: first } = await linkProtectionOf(settings);
  if (first === undefined) throw new Error('there is no TLS');
  const tls = new RenewableTls(first);
  const said: string[] = [];
  const take = (line: string): void => {
    const { level, msg } = JSON.parse(line) as { readonly level: string; readonly msg: string };
    said.push(`${level}: ${msg}`);
  };
  const { logger } = createLog({
    level: 'info',
    destination: { write: take, writeAscii: take, flushSync: () => undefined },
  });
  const where = { host: '127.0.0.1' };
  const read = {
    ...settings,
    get advertiseAddr() {
      return where.host;
    },
  };
  const renewal = new CertificateRenewal({ settings: read, tls, time: systemTime, logger });
  return { renewal, tls, put, said, folder, first, where };
}

test('renewed files are used, and said once', async (t) => {
  const { renewal, tls, put, said, first } = await renewalOf(t);
  let renewals = 0;
  tls.onRenewed(() => (renewals += 1));
  await renewal.look();
  t.is(tls.current, first, 'the same files change nothing');
  await put('renewed-ca', 'renewed');
  await renewal.look();
  await renewal.look();
  t.is(renewals, 1);
  t.notDeepEqual(tls.current, first);
  t.deepEqual(said, ['info: the certificate of the links was renewed']);
});

test('files that no peer would accept change nothing, and later ones are used', async (t) => {
  const { renewal, tls, put, said, folder, first } = await renewalOf(t);
  // The certificate is new already, the key is not yet.
  await copyFile(`${fixtures}/renewed.crt`, join(folder, 'tls.crt'));
  await renewal.look();
  t.is(tls.current, first);
  await renewal.look();
  t.is(said.length, 1, 'said once for each content');
  await writeFile(join(folder, 'tls.key'), 'nothing');
  await renewal.look();
  await rm(join(folder, 'tls.key'));
  await renewal.look();
  await renewal.look();
  t.is(tls.current, first);
  await put('renewed-ca', 'renewed');
  await renewal.look();
  t.not(tls.current, first);
  t.true(said.slice(0, -1).every((line) => line.startsWith('warn: ')));
  t.is(said.at(-1), 'info: the certificate of the links was renewed');
  t.is(said.length, 4, said.join('\n'));
});

test('files that were refused for a reason that passes are used once it has passed', async (t) => {
  const { renewal, tls, put, said, first, where } = await renewalOf(t);
  // Stands for a clock that is behind the one of the issuer: the files stay the same.
  where.host = 'another.example';
  await put('renewed-ca', 'renewed');
  await renewal.look();
  await renewal.look();
  t.is(tls.current, first);
  where.host = '127.0.0.1';
  await renewal.look();
  await renewal.look();
  t.not(tls.current, first);
  t.deepEqual(said, [
    'warn: the renewed certificate of the links cannot be used; the former one stays in use',
    'info: the certificate of the links was renewed',
  ]);
});
