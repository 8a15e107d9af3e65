import test, { type ExecutionContext } from 'ava';
import { bundledModules } from '../../support/builders/bundled-modules.js';
import { eventually } from '../../support/clocks/eventually.js';

interface Received {
  readonly type: string;
}

interface Modules {
  restore(): Promise<unknown>;
  followWhileSeen(
    path: string,
    following: { opened(): void; receive(frame: Received): void },
    tell: (liveness: string) => void,
  ): () => void;
  listen(listener: { receive(event: Received): void; resumed(): void }): () => void;
}

const answer = {
  user: { id: 'ada', email: 'ada@example.com', name: 'Ada', email_verified: true },
  tenants: [{ id: 'one', name: 'One', role: 'owner', plan: 'free' }],
  access_token: 'a token',
  expires_in: 900,
};

/** What the console's modules find around them: a page that is signed in, whose streams the test writes. */
async function signedInPage(t: ExecutionContext) {
  const given: Record<string, unknown> = {};
  const names = ['document', 'location', 'BroadcastChannel', 'fetch', 'reportError'] as const;
  for (const name of names) given[name] = Reflect.get(globalThis, name);
  t.teardown(() => void Object.assign(globalThis, given));
  const document = Object.assign(new EventTarget(), { visibilityState: 'visible' });
  const streams: ReadableStreamDefaultController<Uint8Array>[] = [];
  const reported: unknown[] = [];
  const server = { status: 200 };
  Object.assign(globalThis, {
    document,
    location: { origin: 'http://console.test' },
    BroadcastChannel: class extends EventTarget {
      postMessage(): void {}
    },
    reportError: (error: unknown) => reported.push(error),
    fetch: async (asked: Request | string) => {
      if (typeof asked === 'string') return Response.json({ success: true, data: answer });
      if (server.status !== 200) return Response.json({ error: 'refused' }, { status: server.status });
      const body = new ReadableStream<Uint8Array>({
        start: (stream) => {
          streams.push(stream);
          asked.signal.addEventListener('abort', () => stream.error(asked.signal.reason));
        },
      });
      return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
    },
  });
  const modules = await bundledModules<Modules>(
    'console/src/session/session.ts',
    'console/src/api/realtime.ts',
    'console/src/api/live-stream.ts',
  );
  await modules.restore();
  const write = async (...types: readonly string[]): Promise<void> => {
    const stream = await eventually(() => streams.at(-1));
    const frames = types.map(
      (type, index) => `id: ${index + 1}\nevent: ${type}\ndata: ${JSON.stringify({ type })}\n\n`,
    );
    stream.enqueue(new TextEncoder().encode(frames.join('')));
  };
  const look = (visibilityState: string): void => {
    Object.assign(document, { visibilityState });
    document.dispatchEvent(new Event('visibilitychange'));
  };
  return { ...modules, server, streams, reported, write, look };
}

test.serial('a frame that its view cannot take is reported, and the frames after it arrive', async (t) => {
  const { followWhileSeen, reported, streams, write } = await signedInPage(t);
  const seen: string[] = [];
  const fault = new Error('this view is wrong');
  const stop = followWhileSeen(
    '/api/v1/realtime/sessions',
    {
      opened: () => {
        throw fault;
      },
      receive: ({ type }) => {
        if (type === 'bad') throw fault;
        seen.push(type);
      },
    },
    () => undefined,
  );
  t.teardown(stop);
  await write('one', 'bad', 'two');
  await eventually(() => seen.length === 2);
  t.deepEqual(seen, ['one', 'two']);
  t.deepEqual(reported, [fault, fault]);
  t.is(streams.length, 1);
});

test.serial('a stream that was refused is asked for again when the page is seen again', async (t) => {
  const { followWhileSeen, server, streams, look } = await signedInPage(t);
  const told: string[] = [];
  server.status = 403;
  const following = { opened: () => undefined, receive: () => undefined };
  const stop = followWhileSeen('/api/v1/realtime/sessions', following, (state) => told.push(state));
  t.teardown(stop);
  await eventually(() => told.at(-1) === 'off');
  server.status = 200;
  look('visible');
  await eventually(() => told.at(-1) === 'live');
  look('hidden');
  look('visible');
  await eventually(() => streams.length === 2 && told.at(-1) === 'live');
  t.pass();
});

test.serial('an event that one view cannot take reaches the other views, and so do later ones', async (t) => {
  const { listen, reported, streams, write } = await signedInPage(t);
  const fault = new Error('this view is wrong');
  const seen: string[] = [];
  const refuse = (): never => {
    throw fault;
  };
  t.teardown(listen({ receive: refuse, resumed: refuse }));
  t.teardown(listen({ receive: ({ type }) => seen.push(type), resumed: () => seen.push('resumed') }));
  await write('one', 'two');
  await eventually(() => seen.length === 3);
  t.deepEqual(seen, ['resumed', 'one', 'two']);
  t.deepEqual(reported, [fault, fault, fault]);
  t.is(streams.length, 1);
});
