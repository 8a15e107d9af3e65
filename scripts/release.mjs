// Freezes what the version of package.json releases: the checksums of the numbered migrations, the heads of the SQL
// functions, the protocol version (migrations/released.json), and the messages between nodes (proto/released.binpb).
import '../bin/supported-node.mjs';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const record = `${root}migrations/released.json`;
const { version } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'));
if (version.includes('-')) {
  process.stderr.write(`release: set the version of the release in package.json; it is ${version}\n`);
  process.exit(1);
}

const { headOf } = await import('../dist/test/support/builders/function-head.js');
const { protocolVersion } = await import('../dist/cluster/links/protocol.js');
const releases = JSON.parse(readFileSync(record, 'utf8')).filter((release) => release.version !== version);
const known = new Set(releases.flatMap(({ numbered }) => Object.keys(numbered)));
const read = (name) => readFileSync(`${root}migrations/${name}`, 'utf8').replaceAll('\r\n', '\n');
const checksumOf = (text) => createHash('sha256').update(text).digest('hex');
const sqlNames = (folder) =>
  readdirSync(`${root}migrations${folder}`)
    .filter((name) => name.endsWith('.sql'))
    .sort();

const numbered = sqlNames('')
  .filter((name) => !known.has(name))
  .map((name) => [name, checksumOf(read(name))]);
const functions = sqlNames('/functions').map((name) => {
  const text = read(`functions/${name}`);
  return [name, { head: headOf(text), checksum: checksumOf(text) }];
});
releases.push({
  version,
  protocol: protocolVersion,
  numbered: Object.fromEntries(numbered),
  functions: Object.fromEntries(functions),
});
writeFileSync(record, `${JSON.stringify(releases, null, 2)}\n`);

const set = ['--as-file-descriptor-set', '--exclude-source-info', '-o', 'proto/released.binpb'];
const built = spawnSync('npx', ['buf', 'build', ...set], { cwd: root, stdio: 'inherit' });
process.exit(built.status ?? 1);
