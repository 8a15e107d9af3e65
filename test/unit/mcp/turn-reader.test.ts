import test from 'ava';
import { TurnReader } from '../../../src/mcp/chat/turn-reader.js';

// JSON leaves both as they are, and JavaScript takes them for ends of lines.
test('a tool returns answers with the line and paragraph separators of Unicode', (t) => {
  const progress: string[] = [];
  const reader = new TurnReader(new AbortController().signal, (message) => progress.push(message));
  const content = 'one\u2028data: {}\u2029two';
  for (const [id, type] of ['delta', 'response'].entries())
    reader.write(`id: ${id}\nevent: ${type}\ndata: ${JSON.stringify({ type, content })}\n\n`);
  t.deepEqual(progress, [content]);
  t.is(reader.result.text, content);
});
