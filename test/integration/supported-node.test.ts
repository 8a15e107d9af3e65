import { execFileSync, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import test from 'ava';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const commands = execFileSync('git', ['ls-files', 'bin/*.mjs'], { cwd: root, encoding: 'utf8' })
  .split('\n')
  .filter((file) => file !== '' && !file.endsWith('supported-node.mjs'));

/** Starts a program that takes this Node for another release. */
function startAs(version: string, program: string) {
  const pretend = `data:text/javascript,Object.defineProperty(process.versions,'node',{value:'${version}'})`;
  return spawnSync(process.execPath, ['--import', pretend, program], {
    cwd: root,
    encoding: 'utf8',
    timeout: 60_000,
  });
}

for (const command of [...commands, 'scripts/test.mjs', 'scripts/build.mjs']) {
  test(`${command} refuses an unsupported Node with one line`, (t) => {
    for (const version of ['18.20.4', '20.18.9', '21.7.0', '22.11.0', '23.0.0']) {
      const { status, stdout, stderr } = startAs(version, command);
      t.is(status, 1, version);
      t.is(stdout, '');
      t.regex(stderr, /^troupe: Node \S+ is not supported; install Node 20\.19\.0 or later 20\.x, .+\n$/);
    }
  });
}
