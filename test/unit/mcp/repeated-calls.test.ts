// Calls of `chat_with_agent` with an idempotency key whose hold cannot be ended.
import test from 'ava';
import { PlatformError } from '../../../src/kernel/errors.js';
import { ChatRunner } from '../../../src/mcp/chat/run-chat.js';
import { userOf } from '../../support/builders/callers.js';
import { tenantScope } from '../../../src/kernel/tenant-scope.js';

const agentId = '20000000-0000-4000-8000-000000000001';
const lost = new Error('the connection to the database is lost');

/** A runner whose turn begins or is refused, and what it did with the hold of its key. */
function runnerOf(beginOnce: () => Promise<unknown>) {
  const holds: unknown[] = [];
  const reports: unknown[] = [];
  const end = (what: unknown) => {
    holds.push(what);
    return Promise.reject(lost);
  };
  const runner = new ChatRunner({
    chats: { beginOnce },
    admission: { admitModelWork: async () => ({}) },
    requests: {
      begin: async () => ({
        state: 'held',
        seed: 's',
        keep: (answer: unknown) => end({ keep: answer }),
        release: (keepsSeed = false) => end({ release: keepsSeed }),
      }),
    },
    report: (_attempted: string, error: unknown) => void reports.push(error),
  } as never);
  const call = () =>
    runner.run(
      { agent_id: agentId, message: 'hello' },
      {
        caller: userOf(tenantScope('10000000-0000-4000-8000-000000000001')),
        signal: new AbortController().signal,
        idempotencyKey: 'k',
        onProgress: () => undefined,
      },
    );
  return { call, holds, reports };
}

test('a turn that began is followed although its key cannot be marked as answered', async (t) => {
  const turn = {
    sessionId: 's',
    executionId: 'e',
    enter: async () => ({ sendTo: async () => ({ isDone: true }) }),
  };
  const { call, holds, reports } = runnerOf(async () => turn);
  const { answer } = await call();
  t.is(answer['execution_id'], 'e');
  t.deepEqual(holds, [{ keep: null }], 'the key still names the turn');
  t.deepEqual(reports, [lost]);
});

test('a failure to begin leaves the key its ids, and is what the caller is told', async (t) => {
  const { call, holds, reports } = runnerOf(() => Promise.reject(new PlatformError('service_unavailable')));
  await t.throwsAsync(call(), { instanceOf: PlatformError });
  t.deepEqual(holds, [{ release: true }]);
  t.deepEqual(reports, [lost]);
});
