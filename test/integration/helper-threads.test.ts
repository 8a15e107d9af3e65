// Every way in which the project starts nodes gives Node one helper thread (docs/decisions/0237).
import { readFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import test from 'ava';

const option = '--v8-pool-size=1';
const lineOf = (file: string, pattern: RegExp): string =>
  pattern.exec(readFileSync(new URL(`../../../${file}`, import.meta.url), 'utf8'))?.[0] ?? '';

test('npm start, the local cluster, the image and the service start nodes with one helper thread', (t) => {
  t.true(lineOf('package.json', /"start": .*/).includes(`node ${option} bin/start.mjs`));
  t.true(lineOf('bin/cluster.mjs', /const oneHelperThread = .*/).includes(`'${option}'`));
  t.true(lineOf('bin/cluster.mjs', /spawn\(.*'serve'.*/).includes('oneHelperThread'));
  t.true(lineOf('Dockerfile', /^ENTRYPOINT .*/m).includes(`"node", "${option}"`));
  t.true(lineOf('deploy/systemd/troupe.service', /NODE_OPTIONS=.*/).includes(option));
});

test('Node takes the option from its command line and from NODE_OPTIONS', (t) => {
  const program = ['-p', '"started"'];
  t.is(execFileSync(process.execPath, [option, ...program], { encoding: 'utf8' }), 'started\n');
  const env = { ...process.env, NODE_OPTIONS: option };
  t.is(execFileSync(process.execPath, program, { encoding: 'utf8', env }), 'started\n');
});
