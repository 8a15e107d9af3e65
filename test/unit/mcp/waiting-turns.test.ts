// Chats over MCP whose turn waits for a person.
import test from 'ava';
import type { ChatTurn } from '../../../src/conversations/sessions/index.js';
import { nodeStopping, type StreamEvent } from '../../../src/conversations/invocation/index.js';
import { tenantScope } from '../../../src/kernel/tenant-scope.js';
import { ChatRunner, type ChatRunnerParts } from '../../../src/mcp/chat/run-chat.js';
import { userOf } from '../../support/builders/callers.js';

const id = '018f0000-0000-7000-8000-000000000001';

test('a chat whose node stops while its turn waits for a person is told of the approval', async (t) => {
  const events: readonly StreamEvent[] = [
    { type: 'approval', approval_id: 'a', tool: 'pay', arguments: {} },
    nodeStopping,
  ];
  const turn: ChatTurn = {
    sessionId: id,
    executionId: id,
    enter: () =>
      Promise.resolve({
        sendTo(writer) {
          for (const event of events)
            writer.write(`id: 1\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
          return Promise.resolve({ isDone: false });
        },
      }),
    waits: () => Promise.resolve(true),
    cancel: () => Promise.resolve(t.fail('the turn waits on')),
  };
  const figures = { limit: 10, remaining: 9, reset: 1 };
  const given: unknown = {
    chats: { beginOnce: () => Promise.resolve(turn) },
    admission: { admitModelWork: () => ({ figures }) },
  };
  const runner = new ChatRunner(given as ChatRunnerParts);
  const { answer } = await runner.run(
    { agent_id: id, message: 'pay it' },
    {
      caller: userOf(tenantScope(id), { role: 'owner' }),
      signal: new AbortController().signal,
      idempotencyKey: undefined,
      onProgress: () => undefined,
    },
  );
  t.like(answer, { error: 'approval_pending', approval_id: 'a' });
});
