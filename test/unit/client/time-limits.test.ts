import { setImmediate as turnOfLoop } from 'node:timers/promises';
import { ApiError, type Client, ConnectionError, createClient } from '@troupe/client';
import test from 'ava';
import { ManualTime } from '../../support/clocks/manual-time.js';

type Given = Parameters<typeof createClient>;

/** A client whose clock the test moves. */
function clientWith(options: Partial<Given[0]>, fetch: NonNullable<Given[1]>['fetch']) {
  const time = new ManualTime('2026-01-01T00:00:00Z');
  const client = createClient(
    { baseUrl: 'http://one.test', retries: 0, ...options },
    {
      ...(fetch === undefined ? {} : { fetch }),
      nowMs: () => time.wallMs(),
      after: (milliseconds, call) => {
        const timer = time.after(milliseconds, call);
        return () => timer.cancel();
      },
    },
  );
  const pass = async (milliseconds: number): Promise<void> => {
    await turnOfLoop();
    time.advance(milliseconds);
    await turnOfLoop();
  };
  return { client, time, pass };
}

const never = (): Promise<never> => new Promise(() => undefined);
const noFetch = async (): Promise<Response> => {
  throw new Error('nothing may be sent');
};

/** What has become of the promise by now. */
async function stateOf(promise: Promise<unknown>): Promise<unknown> {
  await turnOfLoop();
  return Promise.race([
    promise.then(
      () => 'resolved',
      (error: unknown) => error,
    ),
    turnOfLoop('pending'),
  ]);
}

test('a token that never comes ends the request at its time limit', async (t) => {
  const { client, time, pass } = clientWith({ accessToken: never }, noFetch);
  const asked = client.keys.list({}, { timeoutMs: 50 });
  await pass(49);
  t.is(await stateOf(asked), 'pending');
  await pass(1);
  t.true((await stateOf(asked)) instanceof ConnectionError);
  t.is(time.pending, 0);
});

test('a request that waits for its token ends when its caller aborts it', async (t) => {
  const { client, time } = clientWith({ accessToken: never }, noFetch);
  const abort = new AbortController();
  const asked = client.keys.list({}, { signal: abort.signal });
  t.is(await stateOf(asked), 'pending');
  const reason = new Error('enough');
  abort.abort(reason);
  t.is(await stateOf(asked), reason);
  t.is(time.pending, 0);
});

test('a token that comes after the time limit is not sent', async (t) => {
  let give = (_token: string): void => undefined;
  const accessToken = (): Promise<string> => new Promise((resolve) => (give = resolve));
  const sent: Request[] = [];
  const { client, pass } = clientWith({ accessToken }, async (request) => {
    sent.push(request);
    return Response.json({ data: [] });
  });
  const asked = client.keys.list({}, { timeoutMs: 50 });
  await pass(50);
  t.true((await stateOf(asked)) instanceof ConnectionError);
  give('late');
  await pass(0);
  t.deepEqual(sent, []);
});

test('a refused token whose successor never comes ends the request, and its stream connects again', async (t) => {
  let refusals = 0;
  const { client, time, pass } = clientWith(
    { accessToken: ({ isRefused }) => (isRefused ? never() : 'old') },
    async () => {
      refusals += 1;
      return Response.json({ error: 'authentication_required', message: 'no' }, { status: 401 });
    },
  );
  const asked = client.keys.list({}, { timeoutMs: 50 });
  await pass(50);
  t.true((await stateOf(asked)) instanceof ConnectionError);
  const abort = new AbortController();
  const frames = client.realtime.follow('/api/v1/realtime/sessions', { signal: abort.signal });
  const next = frames.next();
  await pass(0);
  t.is(refusals, 2);
  await pass(45_000);
  await pass(0);
  t.is(refusals, 3);
  abort.abort(new Error('enough'));
  await t.throwsAsync(next, { message: 'enough' });
  t.is(time.pending, 0);
});

/** An answer whose head is there and whose body never ends. */
const endless = (status: number, type = 'application/json'): Response =>
  new Response(new ReadableStream({ start: (body) => body.enqueue(new TextEncoder().encode('{"data":')) }), {
    status,
    headers: { 'content-type': type },
  });

test('an answer of JSON whose body never ends is no answer at the time limit', async (t) => {
  const asks = [
    (client: Client) => client.quota.read(),
    (client: Client) => client.api.GET('/api/quota'),
    (client: Client) => client.webhooks.send('a trigger', { payload: {} }),
  ];
  const states = asks.map(async (ask) => {
    const { client, time, pass } = clientWith({ apiKey: 'svc_test_x', timeoutMs: 50 }, async () =>
      endless(200),
    );
    const asked = ask(client);
    await pass(50);
    const state = await stateOf(asked);
    t.is(time.pending, 0);
    return state instanceof Error ? state.name : state;
  });
  // The caller reads the answer of a webhook, which may be anything.
  t.deepEqual(await Promise.all(states), ['ConnectionError', 'ConnectionError', 'resolved']);
});

test('a refusal whose body never ends is a refusal at the time limit', async (t) => {
  const { client, pass } = clientWith({ apiKey: 'svc_test_x' }, async () => endless(403));
  const asked = client.quota.read({}, { timeoutMs: 50 });
  await pass(50);
  const state = await stateOf(asked);
  t.true(state instanceof ApiError && state.status === 403);
});

test('a body that breaks off is asked for again where the request may be repeated', async (t) => {
  const answers = [
    new Response(new ReadableStream({ start: (body) => body.error(new TypeError('terminated')) }), {
      headers: { 'content-type': 'application/json; charset=utf-8' },
    }),
    Response.json({ data: [], next_cursor: null }),
  ];
  const { client, pass } = clientWith(
    { apiKey: 'svc_test_x', retries: 1 },
    async () => answers.shift() ?? Response.error(),
  );
  const asked = client.sessions.list();
  await pass(1_000);
  await pass(0);
  t.deepEqual((await asked).data, []);
});

test('the body of a stream has no time limit', async (t) => {
  const { client, pass } = clientWith({ apiKey: 'svc_test_x' }, async () =>
    endless(200, 'text/event-stream'),
  );
  const asked = client.llm.stream({ query: 'hi' }, { timeoutMs: 50 }).next();
  await pass(50);
  t.is(await stateOf(asked), 'pending');
});
