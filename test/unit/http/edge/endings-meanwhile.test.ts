// Credentials that end while a request of theirs waits: for its admission, its body, its handler, or its key's row.
import test, { type ExecutionContext } from 'ava';
import { z } from 'zod';
import { systemRandom, systemTime } from '../../../../cluster/index.js';
import type { Caller, Role } from '../../../../src/kernel/caller.js';
import { PlatformError } from '../../../../src/kernel/errors.js';
import {
  apiKey,
  type Authenticator,
  declare,
  eventStream,
  type Operation,
  SocketReply,
} from '../../../../src/http/operations/index.js';
import { makeKey } from '../../../../src/tenancy/keys/key-text.js';
import { KnownKeys } from '../../../../src/tenancy/keys/known-keys.js';
import { eventually } from '../../../support/clocks/eventually.js';
import { openSocket } from '../../../support/clients/sockets.js';
import { RawConnection } from '../../../support/clients/raw-http.js';
import { keyCaller, openAdmission, someTenant, startEdge } from '../../../support/servers/edge.js';

const { keyId } = keyCaller('member');

/** Waits at a place of a request until the test opens it. */
class Gate {
  reached = 0;
  #open: () => void = () => undefined;
  readonly #opened = new Promise<void>((resolve) => (this.#open = resolve));

  async pass(): Promise<void> {
    this.reached += 1;
    await this.#opened;
  }

  open(): void {
    this.#open();
  }
}

/** The caller of every request, until the test changes or ends it. */
function present(role: Role = 'member') {
  const state: { caller: Caller | undefined } = { caller: keyCaller(role) };
  const authenticator: Authenticator = {
    authenticate() {
      if (state.caller === undefined) throw new PlatformError('invalid_api_key');
      return state.caller;
    },
  };
  return { state, authenticator };
}

const untilGone = async (gone: AbortSignal): Promise<void> => {
  if (!gone.aborted) await new Promise((resolve) => gone.addEventListener('abort', resolve, { once: true }));
};

function socket(handled: () => Promise<void> = async () => undefined): Operation {
  return declare({
    name: 'test.socket',
    method: 'GET',
    path: '/socket',
    title: 'Socket',
    access: apiKey('sessions:read'),
    output: z.string(),
    handle: async () => {
      await handled();
      return new SocketReply(({ gone }) => untilGone(gone));
    },
  });
}

function stream(handled: () => Promise<void> = async () => undefined): Operation {
  return declare({
    name: 'test.stream',
    method: 'GET',
    path: '/stream',
    title: 'Stream',
    access: apiKey('sessions:read'),
    output: z.unknown(),
    handle: async () => {
      await handled();
      return eventStream(({ gone }) => untilGone(gone));
    },
  });
}

function writing(handled: (caller: Caller) => void): Operation {
  return declare({
    name: 'test.write',
    method: 'POST',
    path: '/write',
    title: 'Write',
    access: apiKey('keys:create'),
    body: z.object({ text: z.string() }),
    output: z.object({ done: z.boolean() }),
    handle: ({ caller }) => {
      handled(caller);
      return { done: true };
    },
  });
}

const upgrade =
  'GET /socket HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
  'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n';
const get = 'GET /stream HTTP/1.1\r\nHost: x\r\n\r\n';

test('a key that ends while its request waits for its admission opens no stream and no socket', async (t) => {
  for (const request of [upgrade, get]) {
    const { state, authenticator } = present();
    const gate = new Gate();
    const admission = {
      ...openAdmission,
      admitRequest: async (...given: Parameters<typeof openAdmission.admitRequest>) => {
        await gate.pass();
        return openAdmission.admitRequest(...given);
      },
    };
    const edge = await startEdge([socket(), stream()], { authenticator, admission });
    t.teardown(edge.close);
    const connection = new RawConnection(t, edge.port).send(request);
    await eventually(() => gate.reached === 1, { what: 'the admission' });
    state.caller = undefined;
    edge.server.streams.cut({ key: keyId });
    gate.open();
    await connection.answered('the request of the ended key');
    t.deepEqual(connection.statuses, [401]);
    t.is(edge.server.streams.size, 0);
  }
});

test('a stream or socket whose key ends before it opens is cut as soon as it opens', async (t) => {
  const { authenticator } = present();
  const gates = { socket: new Gate(), stream: new Gate() };
  const edge = await startEdge([socket(() => gates.socket.pass()), stream(() => gates.stream.pass())], {
    authenticator,
  });
  t.teardown(edge.close);
  const opening = openSocket(`${edge.url}/socket`);
  const connection = new RawConnection(t, edge.port).send(get);
  await eventually(() => gates.socket.reached === 1 && gates.stream.reached === 1, { what: 'the handlers' });
  edge.server.streams.cut({ key: 'of somebody else' });
  edge.server.streams.cut({ key: keyId }, { refusal: new PlatformError('tenant_suspended') });
  gates.socket.open();
  gates.stream.open();
  const closedWith = await opening.then(
    async (one) => {
      await eventually(() => one.closedWith() !== undefined, { what: 'the end of the socket' });
      return `the socket was closed with ${one.closedWith()}`;
    },
    (error: Error) => error.message,
  );
  t.is(closedWith, 'the socket was closed with 4401');
  await connection.ended('the stream');
  t.true(connection.received.includes('tenant_suspended'), connection.received);
  t.is(edge.server.streams.size, 0);
});

test('an ending from before the request, or of another owner, cuts nothing', async (t) => {
  const { authenticator } = present();
  const gate = new Gate();
  const edge = await startEdge([socket(() => gate.pass())], { authenticator });
  t.teardown(edge.close);
  edge.server.streams.cut({ key: keyId });
  const opening = openSocket(`${edge.url}/socket`);
  await eventually(() => gate.reached === 1, { what: 'the handler' });
  edge.server.streams.cut({ user: keyId });
  edge.server.streams.cut({ key: keyId }, { spares: (address) => address === '127.0.0.1' });
  gate.open();
  const one = await opening;
  t.is(one.closedWith(), undefined);
  t.is(edge.server.streams.size, 1);
});

/** Sends the head and the first bytes of a body, and the rest once the callback has run. */
async function inTwoParts(
  t: ExecutionContext,
  edge: { readonly port: number },
  admitted: Gate,
  meanwhile: () => void,
): Promise<RawConnection> {
  const body = JSON.stringify({ text: 'hello' });
  const connection = new RawConnection(t, edge.port).send(
    `POST /write HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, 5)}`,
  );
  await eventually(() => admitted.reached > 0, { what: 'the admission' });
  meanwhile();
  connection.send(body.slice(5));
  await connection.answered('the request');
  return connection;
}

test('a request whose body comes after the end of its key is refused, and its handler does not run', async (t) => {
  const { state, authenticator } = present('admin');
  const admitted = new Gate();
  admitted.open();
  const handled: Caller[] = [];
  const edge = await startEdge([writing((caller) => void handled.push(caller))], {
    authenticator,
    admission: {
      ...openAdmission,
      admitRequest: (...given) => {
        void admitted.pass();
        return openAdmission.admitRequest(...given);
      },
    },
  });
  t.teardown(edge.close);
  const ended = await inTwoParts(t, edge, admitted, () => {
    state.caller = undefined;
    edge.server.streams.cut({ key: keyId });
  });
  t.deepEqual(ended.statuses, [401]);
  state.caller = keyCaller('admin');
  const lowered = await inTwoParts(t, edge, admitted, () => {
    state.caller = keyCaller('member');
    edge.server.streams.cut({ key: keyId });
  });
  t.deepEqual(lowered.statuses, [403]);
  t.true(lowered.received.includes('keys:create'), lowered.received);
  t.deepEqual(handled, []);
  state.caller = keyCaller('admin');
  const changed = await inTwoParts(t, edge, admitted, () => {
    state.caller = keyCaller('editor');
    edge.server.streams.cut({ key: keyId });
  });
  t.deepEqual(changed.statuses, [200]);
  t.deepEqual(
    handled.map((caller) => 'role' in caller && caller.role),
    ['editor'],
    'the handler gets the caller as it is now',
  );
});

test('a key that is revoked while its row is read opens no socket', async (t) => {
  const { apiKey: key } = makeKey('svc_live_', systemRandom);
  const gate = new Gate();
  const row = {
    tenant_id: someTenant,
    id: keyId,
    role: 'member' as const,
    rate_limit_per_minute: 10,
    quota_limit: null,
    expires_at: null,
    allowed_models: null,
    allowed_ips: null,
    budget: null,
    origins: null,
    agent_ids: null,
    plan: 'free' as const,
    settings: {},
    suspended: false,
    deleting: false,
  };
  let stored: typeof row | undefined = row;
  const known = new KnownKeys({
    time: systemTime,
    keysMax: 10,
    isFresh: () => true,
    onUse: () => undefined,
    async find() {
      const found = stored;
      await gate.pass();
      return found;
    },
  });
  const edge = await startEdge([socket()], {
    authenticator: { authenticate: ({ address }) => known.authenticate(key, address) },
  });
  t.teardown(edge.close);
  const connection = new RawConnection(t, edge.port).send(upgrade);
  await eventually(() => gate.reached === 1, { what: 'the look-up' });
  stored = undefined;
  known.dropKey(keyId);
  edge.server.streams.cut({ key: keyId });
  gate.open();
  await connection.answered('the request of the revoked key');
  t.deepEqual(connection.statuses, [401]);
  t.is(edge.server.streams.size, 0);
});
