// What becomes of a visitor's message that a full window, a lost connection or a refusal meets.
import test from 'ava';
import { bundledModules } from '../../support/builders/bundled-modules.js';

interface State {
  readonly messages: readonly { readonly from: string; readonly text: string }[];
  readonly notice: string | undefined;
  readonly canRetry: boolean;
}

interface Conversation {
  readonly state: State;
  send(text: string): Promise<void>;
  retry(): Promise<void>;
  resume(): Promise<void>;
  stop(): Promise<void>;
}

interface Store {
  visitor: { readonly [name: string]: unknown; readonly pending?: object };
  takeSecret(): string | undefined;
  change(fields: object): void;
  forget(): void;
}

interface Modules {
  readonly ChatApi: new (settings: object, store: Store, surroundings: object) => object;
  readonly Conversation: new (
    api: object,
    store: Store,
    onChange: (state: State) => void,
    surroundings: object,
  ) => Conversation;
}

const { ChatApi, Conversation } = await bundledModules<Modules>(
  'widget/src/api.ts',
  'widget/src/conversation.ts',
);
Object.assign(globalThis, { document: { visibilityState: 'visible' } });

const base = 'http://chat.test/api/v1/chat/pk_live_x';
/** The limits of a silent stream and of the history, which no test reaches. */
const limitsMs: ReadonlySet<number> = new Set([45_000, 20_000]);
const ids = { session_id: 'a-session', execution_id: 'a-turn' };
const events = {
  metadata: { type: 'metadata', ...ids },
  response: { type: 'response', content: 'An answer.' },
  done: { type: 'done', outcome: 'COMPLETED', ...ids },
};

/** The events of a connection that ends after the last of them. */
function stream(...names: readonly (keyof typeof events)[]): Response {
  const all = Object.keys(events);
  const frames = names.map(
    (name) => `id: ${all.indexOf(name) + 1}\nevent: ${name}\ndata: ${JSON.stringify(events[name])}\n\n`,
  );
  return new Response(frames.join(''), { headers: { 'content-type': 'text/event-stream' } });
}

function refusal(status: number, code: string, headers: Record<string, string> = {}): Response {
  return Response.json({ error: code, message: 'no', status: 'error' }, { status, headers });
}

/** What a proxy between page and platform answers. */
const ofProxy = (status: number): Response => new Response('<html>', { status });
const lost = new TypeError('fetch failed');

/** A page whose platform has prepared answers, and whose waits are over at once. */
function page(visitor: Store['visitor'], ...answers: (Response | Error)[]) {
  const waits: number[] = [];
  const asked: { readonly what: string; readonly key: string | null; readonly body: unknown }[] = [];
  const surroundings = {
    nowMs: () => 0,
    random: () => 1,
    newId: () => 'an-id',
    after: (milliseconds: number, call: () => void) => {
      if (limitsMs.has(milliseconds)) return () => undefined;
      waits.push(milliseconds);
      queueMicrotask(call);
      return () => undefined;
    },
    fetch: async (request: Request) => {
      const body = request.method === 'POST' ? await request.text() : '';
      asked.push({
        what: `${request.method} ${request.url.slice(base.length)}`,
        key: request.headers.get('idempotency-key'),
        body: body === '' ? undefined : JSON.parse(body),
      });
      const answer = answers.shift() ?? new Error('no answer is prepared');
      if (answer instanceof Error) throw answer;
      return answer;
    },
  };
  const store: Store = {
    visitor: { isOpen: true, secret: 'a secret', ...visitor },
    takeSecret: () => undefined,
    change(fields) {
      store.visitor = { ...store.visitor, ...fields };
    },
    forget() {
      store.visitor = {};
    },
  };
  const settings = { baseUrl: 'http://chat.test', key: 'pk_live_x', agent: 'an-agent' };
  const api = new ChatApi(settings, store, surroundings);
  const conversation = new Conversation(api, store, () => undefined, surroundings);
  return {
    conversation,
    store,
    waits,
    asked,
    answers,
    what: () => asked.map(({ what }) => what),
    keys: () => asked.flatMap(({ key }) => (key === null ? [] : [key])),
    texts: () => conversation.state.messages.map(({ text }) => text),
  };
}

const send = 'POST /agents/an-agent/stream';
const follow = 'GET /executions/a-turn/stream';

test('a turn that a full window cuts off is followed further, once the window has room', async (t) => {
  const { conversation, waits, what, texts } = page(
    {},
    stream('metadata'),
    refusal(429, 'rate_limit_exceeded', { 'retry-after': '7' }),
    stream('response', 'done'),
  );
  await conversation.send('How much?');
  t.deepEqual(what(), [send, follow, follow]);
  t.true(waits.includes(7_000), `${waits.join(' ')} ms`);
  t.deepEqual(texts(), ['How much?', 'An answer.']);
  t.is(conversation.state.notice, undefined);
});

test('a message whose answer was lost is repeated with its key through a full window', async (t) => {
  for (const first of [lost, stream()]) {
    const { conversation, what, keys, texts } = page(
      {},
      first,
      refusal(429, 'rate_limit_exceeded', { 'retry-after': '7' }),
      stream('metadata', 'response', 'done'),
    );
    await conversation.send('How much?');
    t.deepEqual(what(), [send, send, send]);
    t.is(new Set(keys()).size, 1);
    t.deepEqual(texts(), ['How much?', 'An answer.']);
  }
});

test('a message that a full window refuses is told at once, and tried again with its key', async (t) => {
  const { conversation, waits, keys, answers } = page(
    {},
    refusal(429, 'rate_limit_exceeded', { 'retry-after': '7' }),
  );
  await conversation.send('How much?');
  t.like(conversation.state, { notice: 'busy', canRetry: true });
  t.deepEqual(waits, []);
  answers.push(stream('metadata', 'response', 'done'));
  await conversation.retry();
  t.is(keys().length, 2);
  t.is(new Set(keys()).size, 1);
});

const passing: readonly (readonly [Response, notice: string])[] = [
  [refusal(429, 'rate_limit_exceeded', { 'retry-after': '3600' }), 'busy'],
  [refusal(503, 'service_unavailable', { 'retry-after': '3600' }), 'unavailable'],
  [refusal(401, 'invalid_api_key'), 'unavailable'],
  [refusal(403, 'origin_not_allowed'), 'unavailable'],
  [refusal(403, 'tenant_suspended'), 'unavailable'],
  [ofProxy(403), 'unavailable'],
  [ofProxy(404), 'unavailable'],
];

test('trying again follows the turn that a refusal kept from the visitor, and begins no other one', async (t) => {
  for (const [refused, notice] of passing) {
    const { conversation, store, what, texts, answers } = page({}, stream('metadata'), refused.clone());
    await conversation.send('How much?');
    t.like(conversation.state, { notice, canRetry: true });
    t.like(store.visitor, { sessionId: 'a-session', secret: 'a secret' });
    answers.push(stream('metadata', 'response', 'done'));
    await conversation.retry();
    t.deepEqual(what(), [send, follow, follow], `${refused.status}`);
    t.deepEqual(texts(), ['How much?', 'An answer.']);
  }
});

test('a message that may have begun keeps its key after a refusal that does not speak of it', async (t) => {
  for (const [refused] of passing) {
    const { conversation, keys, answers } = page({}, lost, refused.clone());
    await conversation.send('How much?');
    answers.push(stream('metadata', 'response', 'done'));
    await conversation.retry();
    t.is(keys().length, 3);
    t.is(new Set(keys()).size, 1, `${refused.status}`);
  }
});

test('a message that the platform refused to begin gets another key, because the refusal is kept', async (t) => {
  for (const refused of [
    refusal(400, 'validation_error'),
    refusal(403, 'chat_disabled'),
    refusal(404, 'agent_not_found'),
    refusal(409, 'conflict'),
  ]) {
    const { conversation, keys, asked, answers } = page({ sessionId: 'a-session' }, refused);
    await conversation.send('How much?');
    answers.push(stream('metadata', 'response', 'done'));
    await conversation.retry();
    t.is(new Set(keys()).size, 2, `${refused.status}`);
    t.like(asked[1]?.body, { message: 'How much?', session_id: 'a-session' });
  }
});

test('a message of a conversation that was erased begins another one', async (t) => {
  for (const before of [[], [stream('metadata')]]) {
    const { conversation, keys, asked, answers } = page(
      { sessionId: 'a-session' },
      ...before,
      refusal(404, 'not_found'),
    );
    await conversation.send('How much?');
    answers.push(stream('metadata', 'response', 'done'));
    await conversation.retry();
    t.is(new Set(keys()).size, 2);
    t.false(Object.hasOwn(Object(asked.at(-1)?.body), 'session_id'));
  }
});

test('a page whose key makes no visitors says so after one request', async (t) => {
  const { conversation, what, waits } = page({ secret: undefined }, refusal(403, 'origin_not_allowed'));
  await conversation.send('How much?');
  t.deepEqual(what(), ['POST /visitors']);
  t.deepEqual(waits, []);
  t.like(conversation.state, { notice: 'unavailable', canRetry: true });
});

test('a page without a secret chats as the visitor of another page of the site', async (t) => {
  const { conversation, store, what } = page({ secret: undefined }, stream('metadata', 'response', 'done'));
  store.takeSecret = () => {
    store.change({ secret: 'of another page' });
    return 'of another page';
  };
  await conversation.send('How much?');
  t.deepEqual(what(), [send]);
});

test('a page that asks for a secret takes the one that another page has got meanwhile', async (t) => {
  const { conversation, store, asked } = page(
    { secret: undefined },
    Response.json({ data: { secret: 'too late' } }),
    stream('metadata', 'response', 'done'),
  );
  store.takeSecret = () => {
    if (asked.length === 0) return undefined;
    store.change({ secret: 'of another page' });
    return 'of another page';
  };
  await conversation.send('How much?');
  t.like(store.visitor, { secret: 'of another page', sessionId: 'a-session' });
});

test('a secret that is none is replaced, with the conversation of its visitor', async (t) => {
  const { conversation, what, answers, store } = page(
    { sessionId: 'a-session' },
    refusal(401, 'authentication_required'),
  );
  await conversation.send('How much?');
  t.like(store.visitor, { secret: undefined, sessionId: undefined });
  answers.push(Response.json({ data: { secret: 'another' } }), stream('metadata', 'response', 'done'));
  await conversation.retry();
  t.deepEqual(what(), [send, 'POST /visitors', send]);
  t.like(store.visitor, { secret: 'another', sessionId: 'a-session' });
});

test('a turn that is stopped before the page knows it is cancelled once it does', async (t) => {
  const { conversation, what } = page(
    {},
    lost,
    stream('metadata'),
    Response.json({ data: {} }),
    stream('done'),
  );
  const sent = conversation.send('How much?');
  await conversation.stop();
  await sent;
  t.deepEqual(what().toSorted(), [follow, 'POST /executions/a-turn/cancel', send, send].toSorted());
});

test('trying again after a stop that came too early cancels nothing', async (t) => {
  const { conversation, texts, answers, what } = page({}, refusal(429, 'rate_limit_exceeded'));
  const sent = conversation.send('How much?');
  await conversation.stop();
  await sent;
  answers.push(stream('metadata', 'response', 'done'));
  await conversation.retry();
  t.deepEqual(what(), [send, send]);
  t.deepEqual(texts(), ['How much?', 'An answer.']);
});

test('a message that the history has already is shown once', async (t) => {
  const said = { id: 'one', from: 'visitor', content: 'How much?', execution_id: 'a-turn' };
  const { conversation, texts } = page(
    { sessionId: 'a-session', pending: { text: 'How much?', idempotencyKey: 'a-key' } },
    Response.json({ data: [said], control_mode: 'engaged' }),
    stream('metadata', 'response', 'done'),
  );
  await conversation.resume();
  t.deepEqual(texts(), ['How much?', 'An answer.']);
});
