// make-secrets.sh where openssl is missing, where it fails, and where it works.
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const script = fileURLToPath(new URL('../compose/make-secrets.sh', import.meta.url));
const work = mkdtempSync(join(tmpdir(), 'troupe-secrets-'));
const folder = join(work, 'secrets');
const programs = join(work, 'bin');

try {
  copyFileSync(script, join(work, 'make-secrets.sh'));
  mkdirSync(programs);
  for (const name of ['sh', 'dirname', 'mkdir', 'chmod', 'cat', 'grep', 'mv', 'rm', 'tr']) {
    symlinkSync(pathOf(name), join(programs, name));
  }
  refuses('without openssl', /openssl is not installed/);
  opensslIs('echo "no random numbers" >&2; exit 1');
  refuses('where openssl fails', /no random numbers/);
  opensslIs('exit 0');
  refuses('where openssl prints nothing', /printed nothing/);
  // What a release left that did not look for openssl.
  writeFileSync(join(folder, 'database-url'), 'postgres://troupe:@postgres:5432/troupe');
  opensslIs('echo "$*" | tr " " -');
  makesAll();
  const before = secrets();
  makesAll();
  if (JSON.stringify(secrets()) !== JSON.stringify(before)) fail('a second run changes what is there');
} finally {
  rmSync(work, { recursive: true, force: true });
}
process.stdout.write('deploy: make-secrets.sh: as it should be\n');

function run() {
  const { status, stderr } = spawnSync(join(programs, 'sh'), [join(work, 'make-secrets.sh')], {
    env: { PATH: programs },
    encoding: 'utf8',
  });
  return { status, stderr };
}

function refuses(where, told) {
  const { status, stderr } = run();
  if (status === 0 || !told.test(stderr)) fail(`${where}, it ends with ${status} and says: ${stderr}`);
  const written = Object.keys(secrets());
  if (written.length > 0) fail(`${where}, it writes ${written.join(', ')}`);
}

function makesAll() {
  const { status, stderr } = run();
  if (status !== 0) fail(`it ends with ${status} and says: ${stderr}`);
  const made = secrets();
  if (made['master-key'] !== 'rand--base64-32') fail(`master-key is "${made['master-key']}"`);
  const url = `postgres://troupe:${made['database-password']}@postgres:5432/troupe`;
  if (made['database-url'] !== url) fail(`database-url is ${made['database-url']} and not ${url}`);
}

function opensslIs(body) {
  const path = join(programs, 'openssl');
  writeFileSync(path, `#!${join(programs, 'sh')}\n${body}\n`);
  chmodSync(path, 0o755);
}

function secrets() {
  const names = existsSync(folder) ? readdirSync(folder).toSorted() : [];
  return Object.fromEntries(names.map((name) => [name, readFileSync(join(folder, name), 'utf8')]));
}

function pathOf(name) {
  const found = (process.env['PATH'] ?? '').split(delimiter).find((one) => existsSync(join(one, name)));
  if (found === undefined) fail(`${name} is not in the PATH`);
  return join(found, name);
}

function fail(message) {
  process.stderr.write(`deploy: make-secrets.sh: ${message}\n`);
  process.exit(1);
}
