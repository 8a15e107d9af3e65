// The contract of every link, over a simulated network and over gRPC.

import type { ExecutionContext, TestFn } from 'ava';
import { methodsOf } from '../../cluster/activation/method.js';
import { clusterConfig } from '../../cluster/config.js';
import { ActorError, ClusterError } from '../../cluster/errors.js';
import { actorKind, epoch, processId, viewNumber, type ProcessId } from '../../cluster/ids/ids.js';
import { greet } from '../../cluster/links/handshake.js';
import { Links } from '../../cluster/links/links.js';
import type { Transport } from '../../cluster/links/pipe.js';
import { encodeMessage, type OutgoingCall, type RemoteCall } from '../../cluster/links/remote-call.js';
import type { IncomingCall, IncomingHandle } from '../../cluster/links/server-session.js';
import type { Member } from '../../cluster/membership/membership.js';
import type { Random, Time } from '../../cluster/time/time.js';
import { CounterServiceDefinition } from '../../generated/troupe/examples/v1/counter.js';

/** One process on the test network. */
export interface LinkProcess {
  readonly time: Time;
  readonly random: Random;
  readonly transport: Transport;
  /** Ends the process at once, with its connections. */
  vanish(): Promise<void>;
}

export interface LinkRig {
  process(name: string, secret: string): LinkProcess;
  /** Advances time until the condition holds. */
  until(what: string, holds: () => boolean): Promise<unknown>;
}

export const linkCluster = 'contract';
export const linkConfig = clusterConfig({
  connectTimeoutMs: 10_000,
  messageBytesMax: 4_194_304,
  // What a lost connection ends must not take as long; a machine that stands still for some seconds may.
  linkIdlePingMs: 20_000,
  linkSilenceMs: 60_000,
});

const method = [...methodsOf(CounterServiceDefinition, {}).values()][0];
const itemBytes = 1_000;

/** A process whose links accept calls and record them. */
class End {
  readonly id: ProcessId;
  readonly links: Links;
  readonly process: LinkProcess;
  readonly refused: ProcessId[] = [];
  readonly calls: Incoming[] = [];
  address = '';

  constructor(name: string, process: LinkProcess, secret: string) {
    this.id = processId(name);
    this.process = process;
    const { transport, time, random } = process;
    this.links = new Links(transport, { cluster: linkCluster, secret }, linkConfig, time, random, {
      self: this.id,
      mayAct: () => true,
      view: () => ({ number: viewNumber(1), hash: 'h' }),
      heardOfView() {},
      receive: (call) => this.#receive(call),
      refused: (refused) => this.refused.push(refused),
    });
  }

  member(id: ProcessId = this.id): Member {
    return { process: id, address: this.address, weight: 1, roles: ['worker'], host: 'h', pid: 1 };
  }

  #receive(call: IncomingCall): IncomingHandle {
    const incoming = new Incoming(call);
    this.calls.push(incoming);
    // The key selects the behaviour; the test itself answers `wait`.
    if (call.key === 'echo') call.answer.reply(call.body, epoch(3));
    if (call.key === 'fail')
      call.answer.fail(new ActorError('full', 'no room', { detail: 'of seats', retryable: true }));
    if (call.key === 'stream') incoming.produce();
    return incoming;
  }
}

/** A call at the receiving end; as a stream producer it sends while it has credit. */
class Incoming implements IncomingHandle {
  readonly call: IncomingCall;
  readonly events: string[] = [];
  sent = 0;
  #credit: number;

  constructor(call: IncomingCall) {
    this.call = call;
    this.#credit = call.credit;
  }

  produce(): void {
    for (; this.#credit >= itemBytes && this.sent < 20; this.sent += 1) {
      this.call.answer.item(new Uint8Array(itemBytes).fill(this.sent));
      this.#credit -= itemBytes;
    }
    if (this.sent === 20) this.call.answer.end();
  }

  grant(credit: number): void {
    this.#credit += credit;
    if (this.call.key === 'stream') this.produce();
  }

  cancel(): void {
    this.events.push('cancelled');
  }

  detach(): void {
    this.events.push('detached');
  }
}

let answered = 0;

/** A call at the calling end, with everything that it received. */
class Outgoing {
  readonly items: Uint8Array[] = [];
  readonly ends: string[] = [];
  /** Its position in the order in which calls ended. */
  endedAs = Number.POSITIVE_INFINITY;
  body: Uint8Array | undefined;
  error: ClusterError | undefined;
  readonly remote: RemoteCall;

  constructor(from: End, to: Member, key: string, options: { body?: Uint8Array; credit?: number } = {}) {
    const call: OutgoingCall = {
      mode: 'routed',
      kind: actorKind('test.Kind'),
      method,
      group: 'acme',
      key,
      body: options.body ?? new Uint8Array(0),
      deadlineMs: 60_000,
      requestId: 'r',
      repeatable: false,
      traceparent: undefined,
      tracestate: undefined,
      callerGroup: '',
      chain: [],
      credit: options.credit ?? 0,
      answer: {
        opened() {},
        reply: (body) => {
          this.body = body;
          this.ends.push('reply');
          this.endedAs = answered += 1;
        },
        item: (body) => this.items.push(body),
        end: () => this.ends.push('end'),
        fail: (error) => {
          this.error = error;
          this.ends.push(error.tag);
        },
      },
    };
    this.remote = from.links.call(to, call);
  }
}

export function linkContract(
  test: TestFn,
  implementation: string,
  open: (t: ExecutionContext) => Promise<LinkRig>,
): void {
  const end = async (t: ExecutionContext, rig: LinkRig, name: string, secret = 'secret'): Promise<End> => {
    const made = new End(name, rig.process(name, secret), secret);
    let address: string | undefined;
    const listening = made.links.listen().then((bound) => (address = bound));
    await rig.until(`${name} listens`, () => address !== undefined);
    made.address = await listening;
    t.teardown(() => made.links.close());
    return made;
  };
  const pair = async (t: ExecutionContext) => {
    const rig = await open(t);
    const caller = await end(t, rig, 'caller');
    const server = await end(t, rig, 'server');
    return { rig, caller, server };
  };
  const ended = (rig: LinkRig, call: Outgoing): Promise<unknown> =>
    rig.until('the call has ended', () => call.ends.length > 0);

  test(`${implementation}: each call gets its own answer, and one link carries all calls`, async (t) => {
    const { rig, caller, server } = await pair(t);
    const calls = Array.from({ length: 200 }, (_, index) => {
      const body = new Uint8Array([index, 7]);
      return new Outgoing(caller, server.member(), 'echo', { body });
    });
    await rig.until('all are answered', () => calls.every((call) => call.ends.length > 0));
    for (const [index, call] of calls.entries()) {
      t.deepEqual(call.ends, ['reply']);
      t.deepEqual([...(call.body ?? [])], [index, 7]);
    }
    t.is(caller.links.open, 1);
    t.is(caller.links.inFlight, 0);
  });

  test(`${implementation}: a typed failure arrives unchanged`, async (t) => {
    const { rig, caller, server } = await pair(t);
    const call = new Outgoing(caller, server.member(), 'fail');
    await ended(rig, call);
    const { error } = call;
    if (!(error instanceof ActorError)) throw new TypeError('expected an ActorError');
    t.deepEqual(
      [error.code, error.detail, error.retry, error.message],
      ['full', 'of seats', 'later', 'application: no room'],
    );
  });

  test(`${implementation}: a stream is limited by its credit, keeps its order and ends once`, async (t) => {
    const { rig, caller, server } = await pair(t);
    const call = new Outgoing(caller, server.member(), 'stream', { credit: itemBytes * 5 });
    await rig.until('the first credit is used up', () => call.items.length === 5);
    // Any further message would arrive before the answer of this call.
    const after = new Outgoing(caller, server.member(), 'echo');
    await ended(rig, after);
    t.is(call.items.length, 5);
    t.is(server.calls[0]?.sent, 5);
    call.remote.grant(itemBytes * 3);
    await rig.until('three more messages have arrived', () => call.items.length === 8);
    call.remote.grant(itemBytes * 100);
    await ended(rig, call);
    t.deepEqual(call.ends, ['end']);
    t.deepEqual(
      call.items.map((item) => item[0]),
      Array.from({ length: 20 }, (_, index) => index),
    );
  });

  test(`${implementation}: a cancel reaches the handler, and the caller receives nothing more`, async (t) => {
    const { rig, caller, server } = await pair(t);
    const call = new Outgoing(caller, server.member(), 'wait');
    await rig.until('it runs', () => server.calls.length === 1);
    call.remote.cancel();
    const [incoming] = server.calls;
    await rig.until('its handler is cancelled', () => incoming?.events.length === 1);
    incoming?.call.answer.reply(new Uint8Array(1), epoch(0));
    await ended(rig, new Outgoing(caller, server.member(), 'echo'));
    t.deepEqual(incoming?.events, ['cancelled']);
    t.deepEqual(call.ends, []);
  });

  test(`${implementation}: a stream that its producer fails ends once at the reader, after its messages`, async (t) => {
    const { rig, caller, server } = await pair(t);
    const call = new Outgoing(caller, server.member(), 'wait', { credit: itemBytes });
    await rig.until('it runs', () => server.calls.length === 1);
    const answer = server.calls[0]?.call.answer;
    answer?.item(new Uint8Array(10));
    answer?.fail(new ClusterError('fenced', 'a newer activation exists'));
    answer?.item(new Uint8Array(10));
    answer?.end();
    await ended(rig, call);
    await ended(rig, new Outgoing(caller, server.member(), 'echo'));
    t.is(call.items.length, 1);
    t.deepEqual(call.ends, ['fenced']);
    t.deepEqual(server.calls[0]?.events, []);
  });

  test(`${implementation}: long bodies arrive complete, and short calls overtake them`, async (t) => {
    const { rig, caller, server } = await pair(t);
    const body = Uint8Array.from({ length: 3_000_000 }, (_, index) => index % 251);
    const long = new Outgoing(caller, server.member(), 'echo', { body });
    const short = new Outgoing(caller, server.member(), 'echo');
    await ended(rig, short);
    await ended(rig, long);
    t.true(short.endedAs < long.endedAs, 'the long call delayed the short one');
    t.deepEqual(long.ends, ['reply']);
    t.true(Buffer.from(long.body ?? []).equals(Buffer.from(body)));
  });

  test(`${implementation}: a body above the limit is refused before sending, and also by the receiver`, async (t) => {
    const { rig, caller, server } = await pair(t);
    const codec = {
      encode: () => ({ finish: () => new Uint8Array(linkConfig.messageBytesMax + 1) }),
      decode() {},
    };
    const error = t.throws(() => encodeMessage(codec, {}, linkConfig.messageBytesMax), {
      instanceOf: ClusterError,
    });
    t.is(error?.tag, 'message_too_large');
    const body = new Uint8Array(linkConfig.messageBytesMax + linkConfig.chunkBytes);
    const call = new Outgoing(caller, server.member(), 'echo', { body });
    await ended(rig, call);
    t.deepEqual(call.ends, ['peer_lost'], 'a peer that violates the protocol loses its link');
    t.is(server.calls.length, 0);
    // The link is dialed again after a pause.
    const next: { call?: Outgoing } = {};
    await rig.until('calls succeed again', () => {
      if (next.call === undefined || next.call.ends[0] === 'peer_lost') {
        next.call = new Outgoing(caller, server.member(), 'echo');
      }
      return next.call.ends[0] === 'reply';
    });
  });

  test(`${implementation}: calls to a process that vanishes fail at once with a retryable error`, async (t) => {
    const { rig, caller, server } = await pair(t);
    const calls = Array.from({ length: 3 }, () => new Outgoing(caller, server.member(), 'wait'));
    await rig.until('they run', () => server.calls.length === 3);
    const atMs = caller.process.time.monotonicMs();
    await server.process.vanish();
    await rig.until('all have failed', () => calls.every((call) => call.ends.length > 0));
    const tookMs = caller.process.time.monotonicMs() - atMs;
    for (const call of calls) {
      t.deepEqual(call.ends, ['peer_lost']);
      t.is(call.error?.retry, 'same');
      t.false(call.error?.notBegun ?? true, 'it may have run');
    }
    t.true(tookMs < linkConfig.linkSilenceMs, `${tookMs} ms`);
  });

  test(`${implementation}: when a caller vanishes, the producers of its streams are detached`, async (t) => {
    const { rig, caller, server } = await pair(t);
    const call = new Outgoing(caller, server.member(), 'wait', { credit: itemBytes });
    await rig.until('it runs', () => server.calls.length === 1);
    caller.links.lose(server.id);
    await rig.until('its producer is detached', () => server.calls[0]?.events.length === 1);
    t.deepEqual(server.calls[0]?.events, ['detached']);
    t.deepEqual(call.ends, ['peer_lost']);
  });

  test(`${implementation}: another process at the address fails the call with wrong_process and is reported as a refusal`, async (t) => {
    const { rig, caller, server } = await pair(t);
    const expected = processId('former-process');
    const call = new Outgoing(caller, server.member(expected), 'echo');
    await ended(rig, call);
    t.deepEqual(call.ends, ['wrong_process']);
    t.true(call.error?.notBegun);
    t.deepEqual(caller.refused, [expected]);
    t.is(server.calls.length, 0);
  });

  test(`${implementation}: an address without a listener is reported as a refusal`, async (t) => {
    const { rig, caller, server } = await pair(t);
    await server.process.vanish();
    const call = new Outgoing(caller, server.member(), 'echo');
    await ended(rig, call);
    t.deepEqual(call.ends, ['peer_lost']);
    t.true(call.error?.notBegun);
    t.deepEqual(caller.refused, [server.id]);
  });

  test(`${implementation}: a process with a wrong secret is refused with wrong_secret`, async (t) => {
    const rig = await open(t);
    const caller = await end(t, rig, 'caller', 'a guess');
    const server = await end(t, rig, 'server');
    const call = new Outgoing(caller, server.member(), 'echo');
    await ended(rig, call);
    t.deepEqual(call.ends, ['wrong_secret']);
    t.is(call.error?.retry, 'never');
    t.deepEqual(caller.refused, [], 'the process is running, so it is not reported as refused');
    t.is(server.calls.length, 0);
  });

  test(`${implementation}: protocol versions without overlap are refused with protocol_mismatch`, async (t) => {
    const { rig, caller, server } = await pair(t);
    const { transport, time, random } = caller.process;
    const settings = {
      cluster: linkCluster,
      secret: 'secret',
      self: caller.id,
      purpose: 'calls' as const,
      timeoutMs: 10_000,
    };
    let error: unknown;
    const greeting = transport
      .dial(server.member(), new AbortController().signal)
      .then((pipe) => greet(pipe, server.id, { ...settings, protocols: { min: 7, max: 9 } }, time, random))
      .catch((thrown: unknown) => {
        error = thrown;
      });
    await rig.until('it is refused', () => error !== undefined);
    await greeting;
    t.is(error instanceof ClusterError ? error.tag : error, 'protocol_mismatch');
  });
}
