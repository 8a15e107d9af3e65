import { ApiError, ConnectionError, createClient } from '@troupe/client';
import test from 'ava';

/** A platform of prepared answers, and a clock that only the client's waits move. */
function platform(...answers: (Response | Error)[]) {
  const waits: number[] = [];
  const requests: Request[] = [];
  const client = createClient(
    { baseUrl: ['http://one.test', 'http://two.test/'], apiKey: 'svc_test_x', timeoutMs: 600_000 },
    {
      fetch: async (request) => {
        requests.push(request);
        const answer = answers.shift();
        if (answer === undefined) throw new Error('no answer is prepared');
        if (answer instanceof Error) throw answer;
        return answer;
      },
      random: () => 1,
      after: (milliseconds, call) => {
        if (milliseconds >= 600_000) return () => undefined;
        waits.push(milliseconds);
        queueMicrotask(call);
        return () => undefined;
      },
    },
  );
  return { client, waits, requests };
}

const refusal = (status: number, code: string, headers: Record<string, string> = {}): Response =>
  Response.json({ error: code, message: 'no', status: 'error' }, { status, headers });
const quota = (): Response =>
  Response.json({ success: true, quota: { limit: 1, used: 0, remaining: 1, reset_date: '' } });

test('a full window is tried again after the time that the platform names', async (t) => {
  const { client, waits, requests } = platform(
    refusal(429, 'rate_limit_exceeded', { 'retry-after': '7' }),
    quota(),
  );
  await client.quota.read();
  t.deepEqual(waits, [7_000]);
  t.is(requests.length, 2);
});

test('an exhausted quota, and a wait that is too long, are errors at once', async (t) => {
  for (const answer of [
    refusal(429, 'quota_exceeded', { 'retry-after': '1' }),
    refusal(503, 'service_unavailable', { 'retry-after': '61' }),
  ]) {
    const { client, waits } = platform(answer);
    const error = await t.throwsAsync(client.quota.read(), { instanceOf: ApiError });
    t.is(error?.isCommercial, error?.code === 'quota_exceeded');
    t.deepEqual(waits, []);
  }
});

test('a node that is away is left for the next one', async (t) => {
  const { client, requests, waits } = platform(
    new TypeError('fetch failed'),
    refusal(503, 'service_unavailable'),
    quota(),
  );
  await client.quota.read();
  t.deepEqual(
    requests.map(({ url }) => url),
    ['http://one.test/api/quota', 'http://two.test/api/quota', 'http://one.test/api/quota'],
  );
  t.deepEqual(waits, [300, 600]);
});

test('a change without a key is not sent again after a lost answer, one with a key is', async (t) => {
  const id = '00000000-0000-4000-8000-000000000000';
  const lost = platform(new TypeError('fetch failed'));
  await t.throwsAsync(lost.client.sessions.suspend({ path: { id } }), { instanceOf: ConnectionError });
  t.is(lost.requests.length, 1);
  const made = platform(new TypeError('fetch failed'), Response.json({ success: true, data: {} }));
  await made.client.sessions.create({ body: { agent_id: id } });
  const keys = made.requests.map(({ headers }) => headers.get('idempotency-key'));
  t.is(keys.length, 2);
  t.truthy(keys[0]);
  t.is(keys[0], keys[1]);
});

test('the token of a key is asked of the next node where one is away', async (t) => {
  const { client, requests, waits } = platform(
    new TypeError('fetch failed'),
    refusal(503, 'service_unavailable'),
    Response.json({ data: { access_token: 'a token', expires_in: 900 } }),
    Response.json({ data: [] }),
  );
  await client.secrets.list();
  t.deepEqual(
    requests.map(({ method, url }) => `${method} ${url}`),
    [
      'POST http://one.test/api/auth/token',
      'POST http://two.test/api/auth/token',
      'POST http://one.test/api/auth/token',
      'GET http://one.test/api/secrets',
    ],
  );
  t.is(requests.at(-1)?.headers.get('authorization'), 'Bearer a token');
  t.deepEqual(waits, [300, 600]);
});

test('a call that nobody answers rejects after its retries', async (t) => {
  const { client, requests } = platform(...Array.from({ length: 9 }, () => new TypeError('fetch failed')));
  await t.throwsAsync(client.quota.read(), { instanceOf: ConnectionError });
  t.is(requests.length, 4);
  await t.throwsAsync(client.quota.read({}, { retries: 0 }), { instanceOf: ConnectionError });
  t.is(requests.length, 5);
});

test('an aborted call rejects with its reason and is not tried again', async (t) => {
  const { client, requests } = platform(new TypeError('fetch failed'), quota());
  const abort = new AbortController();
  abort.abort(new Error('enough'));
  await t.throwsAsync(client.quota.read({}, { signal: abort.signal }), { message: 'enough' });
  t.is(requests.length, 0);
});
