import { setImmediate as turnOfLoop } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { bundledModules } from '../../support/builders/bundled-modules.js';
import { ManualTime } from '../../support/clocks/manual-time.js';

interface State {
  readonly messages: readonly { readonly from: string; readonly text: string }[];
  readonly notice: string | undefined;
}

interface Conversation {
  readonly state: State;
  resume(): Promise<void>;
  send(text: string): Promise<void>;
  restart(): void;
}

interface Modules {
  readonly Conversation: new (
    api: object,
    store: object,
    onChange: (state: State, arrived: State['messages']) => void,
    surroundings: object,
  ) => Conversation;
  readonly refusalIn: (response: Response, body: unknown, nowMs: number) => Error;
}

const { Conversation, refusalIn } = await bundledModules<Modules>(
  'widget/src/conversation.ts',
  'client/src/errors.ts',
);
Object.assign(globalThis, { document: { visibilityState: 'visible' } });

const refusal = (status: number, headers: Record<string, string> = {}): Error =>
  refusalIn(new Response(null, { status, headers }), {}, 0);
const said = (from: string, content: string) => ({ id: content, from, content, execution_id: null });
const history = {
  isHandedOff: true,
  messages: [said('visitor', 'Is there somebody?'), said('person', 'Ada here.')],
};

type Answer = (signal: AbortSignal) => Promise<unknown>;

/** A page that is loaded again in the middle of a conversation. */
function reloaded(t: ExecutionContext, answer: Answer) {
  const time = new ManualTime('2026-01-01T00:00:00Z');
  const startMs = time.wallMs();
  const askedAt: number[] = [];
  const platform = { answer, turn: turnOfLoop(), outcome: 'COMPLETED' };
  const api = {
    history: (_session: string, signal: AbortSignal) => {
      askedAt.push(time.wallMs() - startMs);
      return platform.answer(signal);
    },
    async *turn() {
      yield { type: 'metadata', session_id: 'a session', execution_id: 'a turn' };
      await platform.turn;
      yield { type: 'response', content: 'An answer.' };
      yield { type: 'done', outcome: platform.outcome };
    },
  };
  const store = {
    visitor: { isOpen: true, sessionId: 'a session' },
    change(fields: object) {
      store.visitor = { ...store.visitor, ...fields };
    },
    forget() {
      store.change({ sessionId: undefined });
    },
  };
  const news: string[] = [];
  const onChange = (_state: State, arrived: State['messages']): void =>
    void news.push(...arrived.map(({ text }) => text));
  const conversation = new Conversation(api, store, onChange, {
    nowMs: () => time.wallMs(),
    random: () => 1,
    after: (milliseconds: number, call: () => void) => {
      const timer = time.after(milliseconds, call);
      return () => timer.cancel();
    },
  });
  // Ends the timer of a conversation that a person has taken over.
  t.teardown(() => conversation.restart());
  const pass = async (milliseconds: number): Promise<void> => {
    await turnOfLoop();
    for (let left = milliseconds; left > 0; left -= 100) {
      time.advance(100);
      await turnOfLoop();
    }
  };
  const texts = (): readonly string[] => conversation.state.messages.map(({ text }) => text);
  return { conversation, platform, store, time, askedAt, pass, texts, news };
}

const unavailable: Answer = async () => {
  throw refusal(503);
};

test('a history that could not be read is read again, after pauses that grow up to eight seconds', async (t) => {
  const { conversation, platform, askedAt, pass, texts } = reloaded(t, unavailable);
  await conversation.resume();
  t.is(conversation.state.notice, 'reconnecting');
  await pass(27_000);
  t.deepEqual(askedAt, [0, 300, 900, 2_100, 4_500, 9_300, 17_300, 25_300]);
  platform.answer = async () => history;
  await pass(8_000);
  t.deepEqual(texts(), ['Is there somebody?', 'Ada here.']);
  t.is(conversation.state.notice, 'handoff');
  const { length } = askedAt;
  await pass(20_000);
  // A person answers: from now on the page asks for news.
  t.deepEqual(askedAt.slice(length), [41_300, 49_300]);
});

test("a person's answers are news once, and what was said before the page was loaded is none", async (t) => {
  const { conversation, platform, pass, texts, news } = reloaded(t, async () => history);
  await conversation.resume();
  t.deepEqual(texts(), ['Is there somebody?', 'Ada here.']);
  const messages = [...history.messages, said('person', 'I looked.'), said('person', 'It left today.')];
  platform.answer = async () => ({ isHandedOff: true, messages });
  await pass(16_000);
  t.deepEqual(news, ['I looked.', 'It left today.']);
  platform.answer = async () => ({
    isHandedOff: false,
    messages: [...messages, said('person', 'Bye.'), said('agent', 'Back again.')],
  });
  await pass(16_000);
  t.deepEqual(news, ['I looked.', 'It left today.', 'Bye.']);
  t.deepEqual(texts().slice(-2), ['Bye.', 'Back again.']);
});

test("a person's answers in a conversation that this page began are news", async (t) => {
  const { conversation, platform, store, pass, news } = reloaded(t, async () => history);
  store.change({ sessionId: undefined });
  platform.turn = Promise.resolve();
  platform.outcome = 'SUSPENDED';
  await conversation.send('Is there somebody?');
  await pass(8_000);
  t.deepEqual(news, ['Ada here.']);
});

test('a history that never comes is given up after 20 s and asked for again', async (t) => {
  const given: AbortSignal[] = [];
  const { conversation, platform, askedAt, pass, texts } = reloaded(t, (signal) => {
    given.push(signal);
    return new Promise(() => undefined);
  });
  void conversation.resume();
  await pass(19_900);
  t.false(given[0]?.aborted);
  await pass(100);
  t.true(given[0]?.aborted);
  t.is(conversation.state.notice, 'reconnecting');
  platform.answer = async () => history;
  await pass(300);
  t.deepEqual(askedAt, [0, 20_300]);
  t.deepEqual(texts(), ['Is there somebody?', 'Ada here.']);
});

test('a platform that is busy is asked again when it says so', async (t) => {
  const { conversation, platform, askedAt, pass } = reloaded(t, async () => {
    throw refusal(429, { 'retry-after': '5' });
  });
  await conversation.resume();
  platform.answer = async () => {
    throw refusal(429, { 'retry-after': '3600' });
  };
  await pass(70_000);
  t.deepEqual(askedAt, [0, 5_000, 65_000]);
});

test('a closed chat asks for nothing, and an opened one at once', async (t) => {
  const { conversation, platform, store, askedAt, pass, texts } = reloaded(t, unavailable);
  await conversation.resume();
  store.change({ isOpen: false });
  await pass(60_000);
  t.deepEqual(askedAt, [0]);
  platform.answer = async () => history;
  store.change({ isOpen: true });
  await conversation.resume();
  await pass(0);
  t.deepEqual(askedAt, [0, 60_000]);
  t.deepEqual(texts(), ['Is there somebody?', 'Ada here.']);
});

test('a conversation that is gone, or that the visitor left, is not asked for again', async (t) => {
  const gone = reloaded(t, unavailable);
  await gone.conversation.resume();
  gone.platform.answer = async () => {
    throw refusal(404);
  };
  await gone.pass(60_000);
  t.deepEqual(gone.askedAt, [0, 300]);
  t.is(gone.conversation.state.notice, undefined);
  const left = reloaded(t, unavailable);
  await left.conversation.resume();
  left.conversation.restart();
  await left.pass(60_000);
  t.deepEqual(left.askedAt, [0]);
  t.is(left.conversation.state.notice, undefined);
});

test('what the visitor writes before the history is there stays, and the history comes after the turn', async (t) => {
  const { conversation, platform, askedAt, pass, texts } = reloaded(t, unavailable);
  await conversation.resume();
  let end = (): void => undefined;
  platform.turn = new Promise((resolve) => (end = resolve));
  platform.answer = async () => ({
    isHandedOff: false,
    messages: [said('visitor', 'Before'), said('visitor', 'And now'), said('agent', 'An answer.')],
  });
  const sent = conversation.send('And now');
  await pass(60_000);
  t.deepEqual(askedAt, [0]);
  t.deepEqual(texts(), ['And now']);
  t.is(conversation.state.notice, 'working');
  end();
  await sent;
  t.deepEqual(texts(), ['And now', 'An answer.']);
  await pass(8_000);
  t.deepEqual(texts(), ['Before', 'And now', 'An answer.']);
});

test('a key or an origin that is refused forgets no conversation: it is asked for when the chat is opened', async (t) => {
  for (const status of [401, 403]) {
    const { conversation, platform, store, askedAt, pass, texts } = reloaded(t, async () => {
      throw refusal(status);
    });
    await conversation.resume();
    await pass(60_000);
    t.deepEqual(askedAt, [0]);
    t.is(store.visitor.sessionId, 'a session');
    platform.answer = async () => history;
    await conversation.resume();
    await pass(0);
    t.deepEqual(texts(), ['Is there somebody?', 'Ada here.']);
  }
});
