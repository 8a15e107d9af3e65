import test from 'ava';
import type { StreamEvent } from '../../../src/conversations/invocation/index.js';
import { TurnReader } from '../../../src/mcp/chat/turn-reader.js';

const approval: StreamEvent = { type: 'approval', approval_id: 'a', tool: 'pay', arguments: {} };
const frame = (event: StreamEvent): string =>
  `id: 1\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;

function startReader({ waits = async () => true }: { readonly waits?: () => Promise<boolean> } = {}) {
  const progress: string[] = [];
  const left = new AbortController();
  const onProgress = (message: string): void => void progress.push(message);
  return { reader: new TurnReader({ left: left.signal, onProgress, waits }), progress, left };
}

// JSON leaves both as they are, and JavaScript takes them for ends of lines.
test('a tool returns answers with the line and paragraph separators of Unicode', (t) => {
  const { reader, progress } = startReader();
  const content = 'one\u2028data: {}\u2029two';
  for (const [id, type] of ['delta', 'response'].entries())
    reader.write(`id: ${id}\nevent: ${type}\ndata: ${JSON.stringify({ type, content })}\n\n`);
  t.deepEqual(progress, [content]);
  t.is(reader.result.text, content);
});

test('a reader has enough when the turn waits for a person', async (t) => {
  const { reader } = startReader();
  reader.write(frame({ type: 'delta', content: 'One moment.' }));
  t.false(reader.gone.aborted);
  reader.write(frame(approval));
  await Promise.resolve();
  await Promise.resolve();
  t.true(reader.gone.aborted);
  t.is(reader.result.approvalId, 'a');
});

test('approvals that are decided already end no reader, in one write with what followed or in several', async (t) => {
  const restarted: StreamEvent = { type: 'status', state: 'restarted' };
  const done: StreamEvent = { type: 'done', outcome: 'COMPLETED' } as StreamEvent;
  for (const writes of [
    [frame(approval) + frame(restarted), frame(done)],
    [frame(approval), frame(done)],
  ]) {
    const { reader } = startReader({ waits: async () => false });
    for (const text of writes) {
      reader.write(text);
      await Promise.resolve();
      await Promise.resolve();
    }
    t.false(reader.gone.aborted);
    t.is(reader.result.outcome, 'COMPLETED');
  }
});

test('an approval whose turn cannot be read counts as pending; a client that leaves ends its reader', async (t) => {
  const { reader } = startReader({ waits: () => Promise.reject(new Error('no database')) });
  reader.write(frame(approval));
  for (let step = 0; step < 4; step += 1) await Promise.resolve();
  t.true(reader.gone.aborted);
  const { reader: other, left } = startReader();
  left.abort();
  t.true(other.gone.aborted);
});
