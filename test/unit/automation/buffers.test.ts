import test from 'ava';
import { systemTime } from '../../../cluster/index.js';
import { Buffers } from '../../../src/automation/inbox/buffers.js';
import type { FlushOutcome } from '../../../src/automation/inbox/flushes.js';
import { tenantScope } from '../../../src/kernel/tenant-scope.js';

const id = '00000000-0000-4000-8000-000000000001';
const scope = tenantScope(id);
const unasked = (): Promise<never> => Promise.reject(new Error('nothing is asked'));
const window = { triggerId: id, sessionId: id };

test('a buffer that must end at once ends whole, however many executions it becomes', async (t) => {
  const left = [29_000, 29_000, undefined];
  const asked: boolean[] = [];
  const begun: string[] = [];
  const buffers = new Buffers({
    store: { inTenant: unasked, directory: unasked, close: unasked },
    flushes: {
      flush: async (_scope, { triggerId, sessionId }, atOnce): Promise<FlushOutcome> => {
        asked.push(atOnce);
        const work = { message: `part ${asked.length}`, context: {}, requestId: 'r' };
        const place = { scope, triggerId, sessionId, executionId: id, row: undefined, attempts: 1, ageMs: 0 };
        return { item: { ...place, work }, leftMs: left.shift() };
      },
    },
    runner: { begin: ({ work }) => void begun.push(work.message) },
    measures: { flushed: () => undefined },
    time: { ...systemTime, after: () => ({ cancel: () => undefined }) },
    scopeOf: tenantScope,
    report: (attempted, error) => t.fail(`${attempted}: ${String(error)}`),
  });
  t.teardown(() => buffers.stop());
  buffers.touched(scope, window, 30_000);
  await buffers.flushOpen(scope, id, id);
  t.deepEqual(begun, ['part 1', 'part 2', 'part 3']);
  t.deepEqual(asked, [true, true, true]);
  t.is(buffers.waiting, 0);
});
