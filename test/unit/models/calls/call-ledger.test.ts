// The ledger of a call beside its budgets, on a clock that the test moves.
import test from 'ava';
import { tenantScope } from '../../../../src/kernel/tenant-scope.js';
import { zeroUsage } from '../../../../src/llm/index.js';
import { CallLedger } from '../../../../src/models/calls/call-ledger.js';
import { appliedBudget, type Quota } from '../../../../src/tenancy/quota/index.js';
import { ManualTime } from '../../../support/clocks/manual-time.js';
import { orderOf } from '../../../support/servers/calls-rig.js';
import { simTarget } from '../../../support/servers/vendors/call-harness.js';

const scope = tenantScope('00000000-0000-4000-8000-000000000001');
const done = async (): Promise<void> => undefined;

test('the cost of an attempt is settled for the day on which its row was opened', async (t) => {
  const time = new ManualTime('2026-11-30T23:59:59Z');
  const settled: Parameters<Quota['settleCost']>[1][] = [];
  const order = {
    ...orderOf(scope, {}),
    budgets: [appliedBudget('tenant', scope.tenantId, { usd: 1, period: 'day' })],
  };
  const calls = new CallLedger(
    {
      ledger: { open: done, withdraw: done, close: done, record: done },
      quota: {
        reserveTokens: () => undefined,
        settleTokens: () => undefined,
        reserveCost: () => Promise.resolve({ waitedMs: 0 }),
        settleCost: (_scope, settlement) => void settled.push(settlement),
      },
      time,
      processId: 'a process',
    },
    order,
    'a call',
    time.monotonicMs(),
    () => undefined,
  );
  const target = simTarget('sim.echo');
  const start = {
    attemptId: 'an attempt',
    number: 1,
    target,
    payer: 'platform',
    request: order.request,
  } as const;
  await calls.beforeAttempt(start);
  time.advance(5_000);
  await calls.afterAttempt({
    ...start,
    outcome: 'completed',
    usage: zeroUsage,
    stop: 'stop',
    excerpt: '',
    error: undefined,
    vendorRequestId: undefined,
    startedAtMs: time.monotonicMs(),
    firstSignalMs: undefined,
    durationMs: 0,
  });
  t.deepEqual(settled, [
    { attemptId: 'an attempt', nanos: 0, keyId: null, agentId: null, day: '2026-11-30' },
  ]);
});
