import { ApiError, createClient } from '@troupe/client';
import test from 'ava';

/** A platform that knows one token. */
function signedIn(tokens: (string | undefined)[]) {
  const asked: boolean[] = [];
  const sent: (string | null)[] = [];
  const client = createClient(
    {
      baseUrl: 'http://one.test',
      retries: 0,
      tenantId: 'a tenant',
      accessToken: ({ isRefused }) => {
        asked.push(isRefused);
        return tokens.shift();
      },
    },
    {
      fetch: async ({ headers }) => {
        sent.push(headers.get('authorization'));
        return headers.get('authorization') === 'Bearer good'
          ? new Response(': \n\n', { headers: { 'content-type': 'text/event-stream' } })
          : Response.json({ error: 'authentication_required', message: 'no' }, { status: 401 });
      },
      random: () => 1,
      // Waits pass at once; the limits of silence and of the whole request are longer.
      after: (milliseconds, call) => {
        if (milliseconds < 10_000) queueMicrotask(call);
        return () => undefined;
      },
    },
  );
  return { client, asked, sent };
}

test('a refused token is renewed once, and the request is sent again with the new one', async (t) => {
  const { client, asked, sent } = signedIn(['old', 'good']);
  const response = await client.fetch(new Request('http://one.test/api/keys'));
  t.is(response.status, 200);
  t.deepEqual(asked, [false, true]);
  t.deepEqual(sent, ['Bearer old', 'Bearer good']);
});

test('without another token the refusal stands', async (t) => {
  const { client, sent } = signedIn(['old', undefined]);
  const error = await t.throwsAsync(client.keys.list(), { instanceOf: ApiError });
  t.is(error?.code, 'authentication_required');
  t.deepEqual(sent, ['Bearer old']);
});

test('a person who is not signed in sends no token', async (t) => {
  const { client, sent } = signedIn([undefined]);
  await client.fetch(new Request('http://one.test/api/console/sign-in'));
  t.deepEqual(sent, [null]);
});

test('a stream is opened again with the renewed token', async (t) => {
  const { client, sent } = signedIn(['old', 'good']);
  const stopping = new AbortController();
  const states: string[] = [];
  const following = client.realtime.follow('/api/v1/realtime/sessions', {
    signal: stopping.signal,
    onConnection: (state) => {
      states.push(state);
      if (state === 'lost' && states.includes('open')) stopping.abort();
    },
  });
  await t.throwsAsync(
    async () => {
      for await (const frame of following) t.fail(`no frame is expected: ${frame.type}`);
    },
    { any: true, name: 'AbortError' },
  );
  t.deepEqual(sent, ['Bearer old', 'Bearer good']);
  t.deepEqual(states, ['lost', 'open', 'lost']);
});
