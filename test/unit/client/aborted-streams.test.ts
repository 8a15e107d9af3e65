import { createClient } from '@troupe/client';
import test from 'ava';

const ids = { execution_id: 'an execution', session_id: 'a session' };

/** A platform whose whole answer is there in one read. */
function platform(...frames: readonly string[]) {
  const body = frames.map((frame) => `${frame}\n\n`).join('');
  return createClient(
    { baseUrl: 'http://one.test', apiKey: 'svc_test_x' },
    {
      fetch: async () => new Response(body, { headers: { 'content-type': 'text/event-stream' } }),
      after: () => () => undefined,
    },
  );
}

const frame = (id: number, type: string, data: object): string =>
  `id: ${id}\nevent: ${type}\ndata: ${JSON.stringify(data)}`;

const turn = [
  frame(1, 'metadata', ids),
  frame(2, 'delta', { content: 'one' }),
  frame(3, 'done', { ...ids, outcome: 'COMPLETED' }),
];

test('a turn whose reader aborts hands out nothing that had arrived before, and throws the reason', async (t) => {
  const abort = new AbortController();
  const seen: string[] = [];
  await t.throwsAsync(
    async () => {
      for await (const { type } of platform(...turn).agents.chat('an agent', 'hi', {
        signal: abort.signal,
      })) {
        seen.push(type);
        abort.abort(new Error('enough'));
      }
    },
    { message: 'enough' },
  );
  t.deepEqual(seen, ['metadata']);
});

test('a turn whose reader aborts at its last event is complete', async (t) => {
  const abort = new AbortController();
  const seen: string[] = [];
  for await (const { type } of platform(...turn).agents.chat('an agent', 'hi', { signal: abort.signal })) {
    seen.push(type);
    if (type === 'done') abort.abort(new Error('enough'));
  }
  t.deepEqual(seen, ['metadata', 'delta', 'done']);
});

test('a call whose reader aborts hands out nothing that had arrived before, and throws the reason', async (t) => {
  const client = platform(
    ...[
      { chunk: 'one', done: false },
      { chunk: 'two', done: false },
      { chunk: '', done: true },
    ].map((event, index) => frame(index, 'message', event)),
  );
  const abort = new AbortController();
  const seen: string[] = [];
  await t.throwsAsync(
    async () => {
      for await (const { chunk } of client.llm.stream({ query: 'hi' }, { signal: abort.signal })) {
        seen.push(chunk);
        abort.abort(new Error('enough'));
      }
    },
    { message: 'enough' },
  );
  t.deepEqual(seen, ['one']);
});
