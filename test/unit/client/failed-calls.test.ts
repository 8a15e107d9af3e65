// Calls of a model that fail after the platform has answered with the head of a stream.
import { ApiError, createClient } from '@troupe/client';
import test from 'ava';

/** A platform that streams these events of one call. */
function platform(...events: readonly object[]) {
  const body = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');
  return createClient(
    { baseUrl: 'http://one.test', apiKey: 'svc_test_x' },
    {
      fetch: async () =>
        new Response(body, { headers: { 'content-type': 'text/event-stream', 'x-request-id': 'a-request' } }),
    },
  );
}

test('a call that fails after its first piece rejects with the code of its failure, after its pieces', async (t) => {
  const client = platform(
    { chunk: 'Hel', done: false },
    { error: 'provider_error', message: 'The vendor failed.', done: true },
  );
  const chunks: string[] = [];
  const error = await t.throwsAsync(
    async () => {
      for await (const { chunk } of client.llm.stream({ query: 'hi' })) chunks.push(chunk);
    },
    { instanceOf: ApiError, message: 'The vendor failed.' },
  );
  t.like(error, { code: 'provider_error', status: 200, requestId: 'a-request' });
  t.deepEqual(chunks, ['Hel']);
});
