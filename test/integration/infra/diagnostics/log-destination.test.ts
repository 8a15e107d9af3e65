// A process of its own, whose end is awaited: a write that a thread has begun shows only then.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import test, { type ExecutionContext } from 'ava';

const module = new URL('../../../../src/infra/diagnostics/log-destination.js', import.meta.url).href;

function start(t: ExecutionContext, script: string) {
  const code = `import { LogDestination } from '${module}';\n${script}`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', code], { stdio: 'pipe' });
  t.teardown(() => child.kill('SIGKILL'));
  const errors: string[] = [];
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => errors.push(chunk));
  return { child, errors, ended: once(child, 'exit') };
}

const linesWritten = ['first', ...'abcd'.split('').map((letter) => letter.repeat(30_000)), 'last'];
const writing = `
  log.write('first\\n');
  for (const letter of 'abcd') log.writeAscii(letter.repeat(30_000) + '\\n');
  log.write('last\\n');`;

const sorted = (output: string): readonly string[] => output.split('\n').slice(0, -1).toSorted();

test('each line is written once, however much of it is under way at the end', async (t) => {
  const { child, errors, ended } = start(t, `const log = new LogDestination(1); ${writing} log.flushSync();`);
  t.deepEqual(sorted(await text(child.stdout)), linesWritten.toSorted());
  t.deepEqual(await ended, [0, null], errors.join(''));
});

test('a file is closed once the write that is under way has ended', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'troupe-log-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const path = join(folder, 'log');
  const { errors, ended } = start(
    t,
    `const log = new LogDestination(${JSON.stringify(path)}); ${writing} log.flushSync();
    process.on('exit', () => process.exitCode = log.dropped);`,
  );
  t.deepEqual(await ended, [0, null], errors.join(''));
  t.deepEqual(sorted(await readFile(path, 'utf8')), linesWritten.toSorted());
});

/** A pipe that takes nothing more for now: its descriptor refuses instead of waiting, since `process.stdout` was used. */
const fullPipe = (lastWaitMs: number): string => `
  import { writeSync } from 'node:fs';
  process.stdout.on('error', () => undefined);
  try { for (;;) writeSync(1, '-\\n'); } catch (error) { process.stderr.write(error.code); }
  const log = new LogDestination(1, ${lastWaitMs});`;

const writingMuch = `
  for (let number = 0; number < 64; number += 1) log.write(String(number).padEnd(32_000, '.') + '\\n');`;

test('a reader that is behind gets each line once', async (t) => {
  const { child, errors, ended } = start(
    t,
    `${fullPipe(60_000)} ${writingMuch}
    process.stdin.on('data', () => log.flushSync());`,
  );
  t.deepEqual(await once(child.stderr, 'data'), ['EAGAIN']);
  const lines: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    if (!line.startsWith('-')) lines.push(line.replaceAll('.', ''));
    // The last buffer is not full: it comes with the end, or with the timer before.
    if (line.startsWith('61.')) child.stdin.end('flush');
  }
  t.deepEqual(await ended, [0, null], errors.join(''));
  t.deepEqual(
    lines,
    Array.from({ length: 64 }, (_, number) => String(number)),
  );
});

test('the last lines wait for a reader that is behind, and not for ever', async (t) => {
  const behind = start(t, `${fullPipe(60_000)} ${writing} log.flushSync();`);
  t.deepEqual(await once(behind.child.stderr, 'data'), ['EAGAIN']);
  const lines = sorted(await text(behind.child.stdout)).filter((line) => line !== '-');
  t.deepEqual(lines, linesWritten.toSorted());
  t.deepEqual(await behind.ended, [0, null], behind.errors.join(''));
  const exit = 'process.exit(log.dropped > 0 ? 7 : 8);';
  const stuck = start(t, `${fullPipe(100)} ${writingMuch} log.flushSync(); ${exit}`);
  t.deepEqual(await stuck.ended, [7, null], stuck.errors.join(''));
});
