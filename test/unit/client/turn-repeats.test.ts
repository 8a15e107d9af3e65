// What a turn makes of refusals, once its message may have arrived.
import { ApiError, ConnectionError, createClient } from '@troupe/client';
import test from 'ava';

const ids = { execution_id: 'a-turn', session_id: 'a-session' };
const silenceMs = 45_000;
const answerMs = 600_000;

/** A platform of prepared answers, and a clock that only the client's waits move. */
function platform(...answers: (Response | Error)[]) {
  const waits: number[] = [];
  const asked: string[] = [];
  const keys = new Set<string | null>();
  const client = createClient(
    { baseUrl: 'http://one.test', apiKey: 'svc_test_x', timeoutMs: answerMs },
    {
      fetch: async (request) => {
        asked.push(`${request.method} ${new URL(request.url).pathname}`);
        if (request.method === 'POST') keys.add(request.headers.get('idempotency-key'));
        const answer = answers.shift() ?? new Error('no answer is prepared');
        if (answer instanceof Error) throw answer;
        return answer;
      },
      random: () => 1,
      after: (milliseconds, call) => {
        if (milliseconds === silenceMs || milliseconds === answerMs) return () => undefined;
        waits.push(milliseconds);
        queueMicrotask(call);
        return () => undefined;
      },
    },
  );
  return { client, waits, asked, keys };
}

const refusal = (status: number, code: string, headers: Record<string, string> = {}): Response =>
  Response.json({ error: code, message: 'no', status: 'error' }, { status, headers });
const frame = (id: number, type: string, data: object): string =>
  `id: ${id}\nevent: ${type}\ndata: ${JSON.stringify(data)}\n\n`;
const stream = (...frames: readonly string[]): Response =>
  new Response(frames.join(''), { headers: { 'content-type': 'text/event-stream' } });
const begun = frame(1, 'metadata', ids);
const ended = frame(2, 'done', { ...ids, outcome: 'COMPLETED' });
const post = 'POST /api/v2/agents/an-agent/stream';
const get = 'GET /api/v1/executions/a-turn/stream';

test('a message whose answer was lost is repeated through refusals that pass, with one key', async (t) => {
  for (const first of [new TypeError('fetch failed'), stream()]) {
    const refused = Array.from({ length: 8 }, (_, at) =>
      at % 2 === 0 ? refusal(503, 'service_unavailable') : refusal(429, 'rate_limit_exceeded'),
    );
    const { client, asked, keys } = platform(first, ...refused, stream(begun, ended));
    const { outcome } = await client.agents.chat('an-agent', 'hi').result();
    t.is(outcome, 'COMPLETED');
    t.deepEqual(new Set(asked), new Set([post]));
    t.is(asked.length, 10);
    t.is(keys.size, 1);
  }
});

test('a message that was refused each time is an error after the retries of a request', async (t) => {
  const refused = Array.from({ length: 8 }, () => refusal(503, 'service_unavailable'));
  const { client, asked } = platform(...refused);
  await t.throwsAsync(client.agents.chat('an-agent', 'hi').result(), { instanceOf: ApiError });
  t.is(asked.length, 4);
});

test('a turn waits for a window as long as the client may wait, and leaves a longer wait to its caller', async (t) => {
  const short = platform(
    stream(begun),
    refusal(429, 'rate_limit_exceeded', { 'retry-after': '60' }),
    stream(ended),
  );
  await short.client.agents.chat('an-agent', 'hi').result();
  t.deepEqual(short.asked, [post, get, get]);
  t.true(short.waits.includes(60_000), `${short.waits.join(' ')} ms`);
  const long = platform(stream(begun), refusal(429, 'rate_limit_exceeded', { 'retry-after': '61' }));
  const turn = long.client.agents.chat('an-agent', 'hi');
  const error = await t.throwsAsync(turn.result(), { instanceOf: ApiError });
  t.is(error?.status, 429);
  t.is(turn.executionId, 'a-turn');
});

test('a turn that cannot be reached at all rejects as lost', async (t) => {
  const { client } = platform(...Array.from({ length: 60 }, () => new TypeError('fetch failed')));
  await t.throwsAsync(client.agents.chat('an-agent', 'hi').result(), { instanceOf: ConnectionError });
});
