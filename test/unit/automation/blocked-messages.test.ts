// When the sender of a message for people gets the empty answer.
import { randomUUID } from 'node:crypto';
import test from 'ava';
import {
  BlockedMessages,
  type BlockedMessageParts,
} from '../../../src/automation/intake/blocked-messages.js';
import type { CheckedMessage } from '../../../src/automation/intake/incoming-request.js';
import { emptyTwiml } from '../../../src/automation/outbox/replies/formats.js';
import { tenantScope } from '../../../src/kernel/tenant-scope.js';
import { ManualTime } from '../../support/clocks/manual-time.js';

const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

/** A message of a session that people took over, once its row is written. */
async function keptMessage(fate: 'accepted' | 'present' = 'accepted') {
  const time = new ManualTime('2026-05-01T10:00:00Z');
  const state: { begun: number; answer?: unknown; end: () => void } = { begun: 0, end: () => undefined };
  const parts: unknown = {
    rows: { write: async () => ({ acceptance: { fate, seq: 1, isBehind: false }, row: {} }) },
    runner: {
      begin: (_: unknown, onEnd: () => void) => {
        state.begun += 1;
        state.end = onEnd;
      },
    },
    measures: { refused: () => undefined },
    time,
  };
  const message: unknown = {
    trigger: { id: randomUUID(), scope: tenantScope(randomUUID()) },
    sources: { context: {} },
    request: { requestId: 'r' },
    sender: {},
    query: 'hi',
  };
  const kept = new BlockedMessages(parts as BlockedMessageParts).keepForPeople(message as CheckedMessage);
  void kept.then((answer) => (state.answer = answer));
  await settled();
  return { time, state };
}

test('the answer waits until the session has recorded the message', async (t) => {
  const { time, state } = await keptMessage();
  t.is(state.begun, 1);
  t.is(state.answer, undefined);
  state.end();
  await settled();
  t.is(state.answer, emptyTwiml);
  t.is(time.pending, 0);
});

test('the answer waits no longer than a channel does', async (t) => {
  const { time, state } = await keptMessage();
  time.advance(1_999);
  await settled();
  t.is(state.answer, undefined);
  time.advance(1);
  await settled();
  t.is(state.answer, emptyTwiml);
});

test('a message that is there already runs nothing, and its answer waits for nothing', async (t) => {
  const { state } = await keptMessage('present');
  t.is(state.begun, 0);
  t.is(state.answer, emptyTwiml);
});
