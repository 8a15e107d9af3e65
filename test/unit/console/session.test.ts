import test, { type ExecutionContext } from 'ava';
import { bundledModules } from '../../support/builders/bundled-modules.js';

interface SessionModule {
  restore(): Promise<unknown>;
  accessToken(asked?: { readonly renew?: boolean }): Promise<string | undefined>;
  readonly session: { get(): unknown };
}

const data = {
  user: { id: 'ada', email: 'ada@example.com', name: 'Ada', email_verified: true },
  tenants: [{ id: 'one', name: 'One', role: 'owner', plan: 'free' }],
  access_token: 'a token',
  expires_in: 900,
};

/** The session of a page whose server answers as the test says, and whose time limits pass when the test says so. */
async function page(t: ExecutionContext) {
  const limits: { readonly milliseconds: number; readonly pass: () => void }[] = [];
  const { fetch, BroadcastChannel } = globalThis;
  const { timeout } = AbortSignal;
  t.teardown(() => {
    Object.assign(globalThis, { fetch, BroadcastChannel });
    AbortSignal.timeout = timeout;
  });
  AbortSignal.timeout = (milliseconds) => {
    const limit = new AbortController();
    limits.push({
      milliseconds,
      pass: () => limit.abort(new DOMException('The time is over.', 'TimeoutError')),
    });
    return limit.signal;
  };
  const server = { answer: (signal: AbortSignal): Promise<Response> => never(signal) };
  Object.assign(globalThis, {
    // The pages of other tests are none of this one's.
    BroadcastChannel: class extends EventTarget {
      postMessage(): void {}
    },
    fetch: (_path: string, { signal }: RequestInit) => server.answer(signal ?? new AbortController().signal),
  });
  const made = await bundledModules<SessionModule>('console/src/session/session.ts');
  return { ...made, server, limits };
}

/** As `fetch` waits. */
function never(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) =>
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true }),
  );
}

test.serial(
  'a renewal without an answer ends at its time limit, and the next request asks again',
  async (t) => {
    const { accessToken, server, limits } = await page(t);
    const asked = [accessToken(), accessToken()];
    t.deepEqual(
      limits.map(({ milliseconds }) => milliseconds),
      [15_000],
    );
    limits[0]?.pass();
    for (const one of asked) await t.throwsAsync(one, { name: 'ConnectionError' });
    server.answer = async () => Response.json({ success: true, data });
    t.is(await accessToken(), 'a token');
  },
);

test.serial('a renewal whose answer breaks off signs nobody out', async (t) => {
  const { restore, accessToken, session, server } = await page(t);
  server.answer = async () => Response.json({ success: true, data });
  await restore();
  server.answer = async () =>
    new Response(new ReadableStream({ start: (body) => body.error(new TypeError('terminated')) }));
  await t.throwsAsync(accessToken({ renew: true }), { name: 'ConnectionError' });
  t.not(session.get(), null);
});
