import { EventEmitter } from 'node:events';
import { connect } from 'node:net';
import test from 'ava';
import fc from 'fast-check';
import { clusterConfig } from '../../../../cluster/config.js';
import type { ClusterError } from '../../../../cluster/errors.js';
import { epoch, processId, viewNumber } from '../../../../cluster/ids/ids.js';
import { CallerSession } from '../../../../cluster/links/caller-session.js';
import { plainBinding } from '../../../../cluster/links/grpc/credentials.js';
import { GrpcPeers } from '../../../../cluster/links/grpc/peers.js';
import { GrpcPipe, type ByteStream } from '../../../../cluster/links/grpc/pipe.js';
import { greet, receive } from '../../../../cluster/links/handshake.js';
import { protocolVersion, spokenProtocols } from '../../../../cluster/links/protocol.js';
import { Links } from '../../../../cluster/links/links.js';
import { ServerSession, type IncomingCall } from '../../../../cluster/links/server-session.js';
import { emptyView } from '../../../../cluster/membership/view.js';
import { systemRandom, systemTime } from '../../../../cluster/time/system.js';
import { CallsRequest } from '../../../../generated/troupe/cluster/v1/link.js';
import { eventually } from '../../../support/clocks/eventually.js';
import { anyFrame, batchBytes, greetingFrame, linkFrame } from '../../../support/servers/link-frames.js';
import { ManualTime } from '../../../support/clocks/manual-time.js';
import { RawPeer, type RawStream } from '../../../support/servers/raw-peer.js';

const runs = Number(process.env['TROUPE_FUZZ_RUNS'] ?? 200);
/** Of a run that is asked for by hand. */
const longestMs = 7_200_000;
/** Each costs a connection. */
const runsOverTcp = Math.ceil(runs / 4);
const config = clusterConfig({ greetingMs: 60_000 });
const cluster = 'test';
const settings = {
  cluster,
  secret: 'secret',
  self: processId('server'),
  purpose: 'calls' as const,
  timeoutMs: 60_000,
  protocols: spokenProtocols,
};
const turn = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve);
  });

/** A gRPC stream without a peer: its events are the bytes from outside. */
class NoStream extends EventEmitter {
  written = 0;

  write(): boolean {
    this.written += 1;
    return true;
  }
}

interface PipeOptions {
  readonly binding?: Uint8Array;
  readonly trust?: () => void;
}

function pipeOver(stream: ByteStream, { binding, trust }: PipeOptions = {}): GrpcPipe {
  return new GrpcPipe({
    stream,
    sent: CallsRequest,
    received: CallsRequest,
    messageBytesMax: config.linkMessageBytes,
    config,
    binding: () => binding ?? Buffer.from('here'),
    trust: trust ?? (() => undefined),
    end() {},
    trouble: noDefect,
  });
}

/** A peer's bytes may end its link, but not through a bug of this program, which a pipe would hide. */
function noDefect(error: ClusterError): void {
  const { tag, cause } = error;
  if (tag !== 'bad_message' && (cause instanceof TypeError || cause instanceof RangeError))
    defects.push(cause);
}

const defects: Error[] = [];
test.afterEach.always((t) => t.deepEqual(defects, []));

/** Answers in one of the ways of an actor, by the key. */
function answer(call: IncomingCall): { cancel(): void; grant(): void; detach(): void } {
  if (call.key.length % 3 === 0) call.answer.reply(call.body, epoch(1));
  if (call.key.length % 3 === 1) call.answer.item(call.body);
  return { cancel() {}, grant() {}, detach() {} };
}

const host = {
  mayAct: () => true,
  view: () => ({ number: viewNumber(1), hash: 'h' }),
  heardOfView() {},
  onClosed() {},
};

test('no bytes before a greeting throw, or make a stranger known', async (t) => {
  t.timeout(longestMs);
  await fc.assert(
    fc.asyncProperty(
      fc.array(batchBytes(anyFrame), { maxLength: 4 }),
      fc.boolean(),
      async (messages, dials) => {
        let isTrusted = false;
        const stream = new NoStream();
        const pipe = pipeOver(stream, { trust: () => (isTrusted = true) });
        const time = new ManualTime('2026-01-01T00:00:00Z');
        const greeting = dials
          ? greet(pipe, processId('server'), settings, time, systemRandom)
          : receive(pipe, settings, time, systemRandom);
        const outcome = greeting.then(
          () => 'greeted',
          () => 'refused',
        );
        for (const message of messages) {
          stream.emit('data', message);
          await turn();
        }
        time.advance(60_000);
        t.is(await outcome, 'refused');
        t.false(isTrusted);
        t.true(stream.written <= 2);
      },
    ),
    { numRuns: runs },
  );
  t.pass();
});

test('no bytes on an open link throw, at either end', async (t) => {
  t.timeout(longestMs);
  await fc.assert(
    fc.asyncProperty(
      fc.array(batchBytes(linkFrame, 20), { maxLength: 8 }),
      fc.boolean(),
      async (messages, asks) => {
        const stream = new NoStream();
        const pipe = pipeOver(stream);
        pipe.trust();
        const greeted = {
          pipe,
          peer: 'peer',
          protocol: protocolVersion,
          attach: (
            onFrames: Parameters<typeof pipe.onFrames>[0],
            onClose: Parameters<typeof pipe.onClose>[0],
          ) => {
            pipe.onFrames(onFrames);
            pipe.onClose(onClose);
          },
        };
        const time = new ManualTime('2026-01-01T00:00:00Z');
        const session = asks
          ? new CallerSession(processId('peer'), greeted, time, config, { ...host, onShed() {} })
          : new ServerSession(greeted, time, config, { ...host, receive: answer });
        for (const message of messages) stream.emit('data', message);
        await turn();
        stream.emit('close');
        t.is(session instanceof ServerSession ? session.running : session.inFlight, 0);
      },
    ),
    { numRuns: runs },
  );
  t.pass();
});

test('a node outlives whatever strangers and peers send it, and serves on', async (t) => {
  t.timeout(longestMs);
  const link = { cluster, secret: 'secret' };
  const [server, caller] = ['server', 'caller'].map((name) => {
    const self = processId(name);
    const peers = new GrpcPeers(
      { self, ...link, host: '127.0.0.1', port: 0 },
      config,
      systemTime,
      systemRandom,
    );
    peers.answerWith(() => ({ from: self, confirmed: false, reachesMemberStore: true, view: emptyView }));
    const links = new Links(peers, link, config, systemTime, systemRandom, {
      ...host,
      self,
      receive: answer,
      refused() {},
    });
    return { peers, links, self };
  });
  if (server === undefined || caller === undefined) return t.fail();
  const address = await server.links.listen();
  t.teardown(() => Promise.all([caller.links.close(), server.links.close()]));
  const member = { process: server.self, address, weight: 1, roles: [], host: 'h', pid: 1 };
  const request = { from: caller.self, view: emptyView, confirm: false, exited: undefined };
  const way = fc.oneof(
    fc.record({
      as: fc.constantFrom('stranger' as const),
      method: fc.constantFrom('Calls' as const, 'Probes' as const),
      messages: fc.array(batchBytes(greetingFrame), { maxLength: 4 }),
    }),
    fc.record({
      as: fc.constantFrom('peer' as const),
      method: fc.constantFrom('Calls' as const, 'Probes' as const),
      messages: fc.array(batchBytes(linkFrame, 20), { maxLength: 6 }),
    }),
    fc.record({
      as: fc.constantFrom('framing' as const, 'tcp' as const),
      method: fc.constant('Calls' as const),
      messages: fc.array(fc.uint8Array({ maxLength: 200 }), { maxLength: 4 }),
    }),
  );
  await fc.assert(
    fc.asyncProperty(way, async ({ as, method, messages }) => {
      if (as === 'tcp') await sendOverTcp(address, messages);
      else {
        const raw = new RawPeer(t, address);
        const stream = raw.stream(method);
        if (as === 'peer') await greetAs(stream, address, method === 'Calls' ? 'calls' : 'probes');
        for (const message of messages) {
          if (as === 'framing') stream.raw(message);
          else stream.message(message);
          await turn();
        }
        stream.end();
        await eventually(() => !stream.isOpen || messages.length === 0 || as === 'framing', { everyMs: 1 });
        raw.close();
      }
      const { outcome } = await caller.peers.ask(member, request, AbortSignal.timeout(30_000));
      t.is(outcome, 'replied');
    }),
    { numRuns: runsOverTcp },
  );
  await eventually(() => server.links.served === 0, { what: 'every link of a peer that left is closed' });
});

/** The following bytes come from a process that knows the secret. */
async function greetAs(stream: RawStream, address: string, purpose: 'calls' | 'probes'): Promise<void> {
  const messages = {
    on: (event: string, listener: (value: unknown) => void) => stream.on(event, listener),
    write: (message: Buffer) => {
      stream.message(message);
      return true;
    },
  };
  const pipe = pipeOver(messages, { binding: plainBinding(address) });
  await greet(
    pipe,
    settings.self,
    { ...settings, self: processId('insider'), purpose },
    systemTime,
    systemRandom,
  );
}

function sendOverTcp(address: string, messages: readonly Uint8Array[]): Promise<void> {
  const { hostname, port } = new URL(`tcp://${address}`);
  return new Promise((resolve) => {
    const socket = connect({ host: hostname, port: Number(port) }, () => {
      for (const message of messages) socket.write(message);
      socket.end();
    });
    socket.on('error', () => undefined);
    socket.on('close', () => resolve());
    socket.resume();
  });
}
