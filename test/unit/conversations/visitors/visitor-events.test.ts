import test from 'ava';
import { visitorWriter } from '../../../../src/conversations/visitors/visitor-events.js';

/** What a visitor gets of a chunk. */
function shown(chunk: string): string {
  const written: string[] = [];
  const writer = visitorWriter({
    write: (text) => written.push(String(text)) > 0,
    drained: async () => undefined,
    gone: new AbortController().signal,
  });
  writer.write(chunk);
  return written.join('');
}

const frame = (id: number, event: { readonly type: string; readonly [field: string]: unknown }): string =>
  `id: ${id}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;

test('a visitor gets the shown fields of events, and comments', (t) => {
  const chunk = [
    ': keep-alive\n\n',
    frame(1, { type: 'thinking', content: 'hidden' }),
    frame(2, { type: 'response', content: 'Hi', model: 'hidden' }),
  ].join('');
  t.is(shown(chunk), `: keep-alive\n\n${frame(2, { type: 'response', content: 'Hi' })}`);
});

// JSON leaves both as they are, and JavaScript takes them for ends of lines.
test('a visitor gets texts with the line and paragraph separators of Unicode', (t) => {
  for (const content of ['one\u2028two', 'one\u2029two', '\u2028\u2029']) {
    const chunk = frame(1, { type: 'delta', content }) + frame(2, { type: 'response', content });
    t.is(shown(chunk), chunk);
  }
});
