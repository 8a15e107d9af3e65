// How long a message of a trigger follows its turn, and what it says when the turn has not ended by then.
import { randomUUID } from 'node:crypto';
import test from 'ava';
import {
  SessionTurns,
  type SessionTurnsParts,
  TurnWaits,
} from '../../../src/automation/inbox/session-turns.js';
import type { TurnOrder } from '../../../src/automation/triggers/ports.js';
import { PlatformError } from '../../../src/kernel/errors.js';
import { tenantScope } from '../../../src/kernel/tenant-scope.js';
import { ManualTime } from '../../support/clocks/manual-time.js';

const hourMs = 3_600_000;

/** Turns whose sessions have this row of it, and whose events end after an hour. */
function turnsWith(
  row: { readonly status: string; readonly outcome: null } | undefined,
  begun: string[] = [],
) {
  const time = new ManualTime('2026-05-01T00:00:00Z');
  const parts: unknown = {
    sessions: {
      end: async () => row,
      begin: async ({ executionId }: { readonly executionId: string }) => {
        begun.push(executionId);
        time.advance(hourMs);
        return (async function* () {})();
      },
    },
    admission: { admitUnasked: async () => undefined },
    time,
    newId: randomUUID,
  };
  return new SessionTurns(parts as SessionTurnsParts);
}

const order: Partial<TurnOrder> = {
  scope: tenantScope(randomUUID()),
  executionId: randomUUID(),
  sessionId: randomUUID(),
  attachments: [],
  context: {},
  consumerKey: 'somebody',
  otherConsumers: [],
  deadlineMs: 60_000,
  isCounted: true,
  isRepeat: true,
  isOld: false,
};

for (const status of ['queued', 'running']) {
  test(`a ${status} turn that has not ended in time is taken up again later`, async (t) => {
    const turns = turnsWith({ status, outcome: null });
    await t.throwsAsync(turns.runTurn(order as TurnOrder), {
      instanceOf: TurnWaits,
      message: /has not ended in time/,
    });
    t.true(await turns.isKnown(order as TurnOrder));
  });
}

test('a turn that has been queued for long is looked at, and followed no more', async (t) => {
  const begun: string[] = [];
  const queued = turnsWith({ status: 'queued', outcome: null }, begun);
  await t.throwsAsync(queued.runTurn({ ...order, isOld: true } as TurnOrder), { instanceOf: TurnWaits });
  t.deepEqual(begun, []);
  const running = turnsWith({ status: 'running', outcome: null }, begun);
  await t.throwsAsync(running.runTurn({ ...order, isOld: true } as TurnOrder), { instanceOf: TurnWaits });
  t.is(begun.length, 1, 'a running turn is followed, so that its answer is sent at once');
});

test('a turn that no session has got in time is refused for now', async (t) => {
  const turns = turnsWith(undefined);
  const error = await t.throwsAsync(turns.runTurn(order as TurnOrder), { instanceOf: PlatformError });
  t.false(error instanceof TurnWaits);
  t.is(error?.code, 'service_unavailable');
  t.false(await turns.isKnown(order as TurnOrder));
});
