import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { systemTime } from '../../../../cluster/index.js';
import { PlatformError } from '../../../../src/kernel/errors.js';
import { SandboxError, type SandboxTask, type Sandbox } from '../../../../src/infra/sandbox/index.js';
import { eventually } from '../../../support/clocks/eventually.js';
import { startSandbox } from '../../../support/servers/sandbox.js';
import { isAlive } from '../../../support/servers/processes.js';
import type { HangInput } from './hang.task.js';

const task: SandboxTask<HangInput, string> = {
  module: new URL('./hang.task.js', import.meta.url),
  timeoutMs: 20_000,
};

function act(
  sandbox: Sandbox,
  tenant: string,
  input: HangInput,
  timeoutMs = task.timeoutMs,
): Promise<string> {
  return sandbox.run(tenant, { ...task, timeoutMs }, () => input);
}

const answer = { act: 'answer', ms: 0 } as const;

async function failureOf(work: Promise<unknown>): Promise<unknown> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof SandboxError) return error.failure;
    if (error instanceof PlatformError) return error.code;
    throw error;
  }
}

test('a task that crashes, times out or fills memory ends alone, and its process is replaced', async (t) => {
  const sandbox = startSandbox(t, { processes: 1, residentBytesMax: 400 * 1024 * 1024 });
  t.is(await act(sandbox, 'a', answer), 'done');
  const [first] = sandbox.pids;
  t.is(await failureOf(act(sandbox, 'a', { act: 'throw', ms: 0 })), 'failed');
  t.deepEqual(sandbox.pids, [first], 'an error costs no process');
  for (const [input, failure] of [
    [{ act: 'crash', ms: 0 }, 'too-large'],
    [{ act: 'exit', ms: 0 }, 'too-large'],
    [{ act: 'spin', ms: 60_000 }, 'timeout'],
    [{ act: 'fill', ms: 600 }, 'too-large'],
  ] as const) {
    const before = sandbox.pids;
    const timeoutMs = failure === 'timeout' ? 200 : task.timeoutMs;
    t.is(await failureOf(act(sandbox, 'a', input, timeoutMs)), failure, input.act);
    t.is(await act(sandbox, 'b', answer), 'done');
    t.is(sandbox.pids.length, 1);
    t.notDeepEqual(sandbox.pids, before, 'another process');
    t.false(before.some(isAlive), 'the one before is gone');
  }
});

/** The tenants of tasks in the order in which the sandbox began them: their ends also depend on who gets a core. */
function beginnings(sandbox: Sandbox) {
  const order: string[] = [];
  const spun = (tenant: string, ms: number): Promise<string> =>
    sandbox.run(tenant, task, () => {
      order.push(tenant);
      return { act: 'spin', ms } as const;
    });
  return { order, spun };
}

test('tenants take turns, and one alone does not have every process', async (t) => {
  const { order, spun } = beginnings(startSandbox(t));
  const noisy = Array.from({ length: 30 }, () => spun('noisy', 50));
  const other = spun('other', 1);
  t.deepEqual(order, ['noisy', 'other'], 'the other has a process of its own');
  await other;
  const before = order.length;
  await Promise.all(['loud', 'third'].map((tenant) => spun(tenant, 50)));
  const waited = ['loud', 'third'].map((tenant) => order.indexOf(tenant) - before);
  t.true(Math.max(...waited) <= 3, `a third and a fourth waited for ${waited.join(' and ')}`);
  await Promise.all(noisy);
});

test('with a single process, a tenant with one task waits for at most two of sixty', async (t) => {
  const { order, spun } = beginnings(startSandbox(t, { processes: 1 }));
  await Promise.all([...Array.from({ length: 60 }, () => spun('noisy', 5)), spun('other', 5)]);
  // The first runs and the second is next when the other arrives.
  t.true(order.indexOf('other') <= 2, `${order.indexOf('other')} were before it`);
});

test('a tenant that used its processor time of a minute is refused until the minute has moved on', async (t) => {
  let aheadMs = 0;
  const time = { ...systemTimeParts(), monotonicMs: () => systemTime.monotonicMs() + aheadMs };
  const sandbox = startSandbox(t, { cpuMsPerMinute: 20, time });
  t.is(await act(sandbox, 'a', { act: 'burn', ms: 50 }), 'burnt');
  const refused = await t.throwsAsync(act(sandbox, 'a', answer), {
    instanceOf: PlatformError,
    message: /CPU time/,
  });
  t.like(refused, { code: 'rate_limit_exceeded' });
  const wait = refused instanceof PlatformError ? (refused.retryAfterSeconds ?? 0) : 0;
  t.true(wait > 30 && wait <= 60, `${wait} s`);
  t.is(await act(sandbox, 'b', answer), 'done', 'another tenant has its own');
  aheadMs = 61_000;
  t.is(await act(sandbox, 'a', answer), 'done');
});

test('tasks behind slow ones of their tenant are refused once the budget is used up', async (t) => {
  const sandbox = startSandbox(t, { cpuMsPerMinute: 20 });
  const ends = await Promise.all(
    Array.from({ length: 20 }, () => failureOf(act(sandbox, 'a', { act: 'burn', ms: 10 }))),
  );
  t.is(ends[0], 'burnt');
  t.is(ends.at(-1), 'rate_limit_exceeded');
});

test('waiting tasks are bounded per tenant and per node', async (t) => {
  const sandbox = startSandbox(t);
  const tenants = Array.from({ length: 12 }, (_, index) => `tenant ${index}`);
  const ends = tenants.flatMap((tenant) =>
    Array.from({ length: 258 }, () => failureOf(act(sandbox, tenant, answer))),
  );
  const counts = new Map<unknown, number>();
  for (const end of await Promise.all(ends)) counts.set(end, (counts.get(end) ?? 0) + 1);
  t.true((counts.get('rate_limit_exceeded') ?? 0) > 0, 'its own line is full');
  t.true((counts.get('service_unavailable') ?? 0) > 0, 'the line of all is full');
  t.true((counts.get('done') ?? 0) >= 2_048);
});

test("a child process has no access to the node's environment", async (t) => {
  const sandbox = startSandbox(t);
  const told = JSON.parse(await act(sandbox, 'a', { act: 'tell', ms: 0 })) as {
    environment: Record<string, string>;
  };
  t.deepEqual(
    Object.keys(told.environment).filter((name) => name !== 'NODE_CHANNEL_FD' && !name.startsWith('__')),
    [],
  );
});

test('closing ends every child process, and waiting callers get an error', async (t) => {
  const sandbox = startSandbox(t);
  const busy = ['a', 'b', 'a'].map((tenant) => failureOf(act(sandbox, tenant, { act: 'spin', ms: 60_000 })));
  await eventually(() => sandbox.pids.length === 2);
  const { pids } = sandbox;
  await sandbox.close();
  t.deepEqual(await Promise.all(busy), Array(3).fill('service_unavailable'));
  t.is(await failureOf(act(sandbox, 'a', answer)), 'service_unavailable');
  t.false(pids.some(isAlive));
});

test('a module that cannot be loaded is reported, and the tenant is not charged', async (t) => {
  const reports: string[] = [];
  const sandbox = startSandbox(t, { report: (attempted) => reports.push(attempted) });
  const absent = { ...task, module: new URL('./nowhere.task.js', import.meta.url) };
  t.is(await failureOf(sandbox.run('a', absent, () => answer)), 'service_unavailable');
  t.is(reports.length, 1);
  t.is(await act(sandbox, 'a', answer), 'done');
});

for (const when of ['idle', 'busy'] as const) {
  test(`a child process that is ${when} ends when its node is killed`, async (t) => {
    const node = fork(fileURLToPath(new URL('./owner.process.js', import.meta.url)), [when]);
    t.teardown(() => node.kill('SIGKILL'));
    const pid = await pidFrom(node);
    t.true(isAlive(pid));
    node.kill('SIGKILL');
    await once(node, 'exit');
    await eventually(() => !isAlive(pid));
    t.pass();
  });
}

async function pidFrom(node: ChildProcess): Promise<number> {
  const [pid] = (await once(node, 'message')) as [number];
  return pid;
}

function systemTimeParts(): typeof systemTime {
  return {
    monotonicMs: () => systemTime.monotonicMs(),
    wallMs: () => systemTime.wallMs(),
    after: (delayMs, action) => systemTime.after(delayMs, action),
    soon: (action) => systemTime.soon(action),
  };
}
