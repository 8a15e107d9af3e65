import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { systemTime } from '../../../../cluster/index.js';
import { enterProcesses } from '../../../../src/models/usage/index.js';

test('earlier processes of a data directory that surely ended are recognised as gone', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'troupe-processes-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const first = await enterProcesses(folder, 'first-of-this-process', systemTime);
  t.false(first.isGone('first-of-this-process'));
  const ended = spawn(process.execPath, ['-e', '']);
  await once(ended, 'exit');
  const write = (name: string, pid: unknown, host = hostname()): Promise<void> =>
    writeFile(join(folder, 'processes', name), JSON.stringify({ pid, host }));
  await write('ended', ended.pid);
  await write('same-number-before-this-start', process.pid);
  await write('running', process.ppid);
  await write('elsewhere', ended.pid, 'another-machine');
  await write('unreadable', 'none');
  const second = await enterProcesses(folder, 'second-of-this-process', systemTime);
  const names = [
    'ended',
    'same-number-before-this-start',
    'running',
    'elsewhere',
    'unreadable',
    'first-of-this-process',
    'never-heard-of',
  ];
  t.deepEqual(
    names.filter((name) => second.isGone(name)),
    ['ended', 'same-number-before-this-start'],
  );
  await second.leave();
  await first.leave();
  const left = await readdir(join(folder, 'processes'));
  t.false(left.includes('first-of-this-process') || left.includes('second-of-this-process'));
});
