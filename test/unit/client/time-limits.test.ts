import { setImmediate as turnOfLoop } from 'node:timers/promises';
import { ConnectionError, createClient } from '@troupe/client';
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
