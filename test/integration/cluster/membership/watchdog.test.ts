import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import test, { type ExecutionContext } from 'ava';
import { processId } from '../../../../cluster/ids/ids.js';
import { eventually } from '../../../support/clocks/eventually.js';
import { hasExited, hostName } from '../../../../cluster/membership/watchdog/host.js';

const modules = new URL('../../../../cluster/', import.meta.url).href;

/** A process whose watchdog ends it after the bound, and which runs `work` after it prints "ready". */
function watched(t: ExecutionContext, work: string, boundMs = 300): ChildProcess {
  const source = `
    import { Watchdog } from '${modules}membership/watchdog/watchdog.js';
    import { systemTime } from '${modules}time/system.js';
    const watchdog = new Watchdog(systemTime, ${boundMs});
    setTimeout(async () => { console.log('ready'); ${work} }, 100);
  `;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', source], {
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  return child;
}

async function end(child: ChildProcess): Promise<{ signal: unknown; code: unknown; errors: string }> {
  let errors = '';
  child.stderr?.on('data', (chunk) => {
    errors += String(chunk);
  });
  // At its exit, some of its output may still be on the way.
  const [code, signal]: unknown[] = await once(child, 'close');
  return { code, signal, errors };
}

test('a process whose main loop hangs is killed, and the reason is printed', async (t) => {
  const { signal, errors } = await end(watched(t, 'for (;;);'));
  t.is(signal, 'SIGKILL');
  t.regex(errors, /watchdog: the main loop has not run for \d+ ms/);
});

test('a process that is busy in short turns keeps running', async (t) => {
  const busy = `
    const until = Date.now() + 4500;
    const turn = () => {
      const end = Date.now() + 100;
      while (Date.now() < end);
      if (Date.now() < until) setImmediate(turn); else process.exit(7);
    };
    turn();
  `;
  // Three times the bound in all; a machine that stalls for a second between turns does not end it.
  const { code } = await end(watched(t, busy, 1_500));
  t.is(code, 7);
});

test('the watchdog does not kill a process that was stopped as a whole', async (t) => {
  // It ends when it is told to, and not before its watchdog has looked several times.
  const child = watched(t, "process.stdin.once('data', () => setTimeout(() => process.exit(7), 500));");
  if (child.stdout !== null) await once(child.stdout, 'data');
  child.kill('SIGSTOP');
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  child.kill('SIGCONT');
  child.stdin?.write('go on');
  const { code, signal } = await end(child);
  t.deepEqual([code, signal], [7, null]);
});

test('an exit is seen by processes with the same process table, and a live process never counts as exited', async (t) => {
  const member = {
    process: processId('p'),
    address: '',
    weight: 1,
    roles: [],
    host: hostName(),
    pid: process.pid,
  };
  t.false(hasExited(member));
  const child = spawn(process.execPath, ['--eval', '']);
  const exited = once(child, 'exit');
  t.false(hasExited({ ...member, pid: child.pid ?? 0 }));
  await exited;
  t.true(hasExited({ ...member, pid: child.pid ?? 0 }));
});

test('a zombie has exited', async (t) => {
  // The shell becomes a program that never reaps its child.
  const parent = spawn('sh', ['-c', 'sleep 60 & echo $!; exec sleep 60']);
  t.teardown(() => void parent.kill('SIGKILL'));
  const [line] = (await once(parent.stdout, 'data')) as [Buffer];
  const pid = Number(String(line));
  // Before it becomes `sleep`, the parent is a shell, and a shell reaps a child that ends.
  await eventually(() => readFileSync(`/proc/${parent.pid}/comm`, 'utf8') === 'sleep\n');
  const member = { process: processId('p'), address: '', weight: 1, roles: [], host: hostName(), pid };
  t.false(hasExited(member));
  process.kill(pid, 'SIGKILL');
  await eventually(() => hasExited(member));
  t.notThrows(() => process.kill(pid, 0), 'its parent has not reaped it');
});
