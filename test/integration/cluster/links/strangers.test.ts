import { connect, type Socket } from 'node:net';
import { readFileSync } from 'node:fs';
import { connect as connectTls, createServer as createTlsServer } from 'node:tls';
import test, { type ExecutionContext } from 'ava';
import { clusterConfig, type ClusterConfig } from '../../../../cluster/config.js';
import { ClusterError } from '../../../../cluster/errors.js';
import { epoch, processId, viewNumber } from '../../../../cluster/ids/ids.js';
import { GrpcPeers } from '../../../../cluster/links/grpc/peers.js';
import type { GrpcTls } from '../../../../cluster/links/grpc/renewable-tls.js';
import type { GrpcSettings } from '../../../../cluster/links/grpc/settings.js';
import type { LinkTrouble } from '../../../../cluster/links/link-troubles.js';
import { Links, type LinksHost } from '../../../../cluster/links/links.js';
import { processQuestion } from '../../../../cluster/links/process-question.js';
import { actorKind } from '../../../../cluster/ids/ids.js';
import type { Member } from '../../../../cluster/membership/membership.js';
import { emptyView } from '../../../../cluster/membership/view.js';
import { systemRandom, systemTime } from '../../../../cluster/time/system.js';
import { eventually } from '../../../support/clocks/eventually.js';
import { batchOf, emptyFrames, RawPeer } from '../../../support/servers/raw-peer.js';
import { TcpProxy } from '../../../support/servers/tcp-proxy.js';

interface Node {
  readonly links: Links;
  readonly peers: GrpcPeers;
  readonly member: Member;
  readonly troubles: LinkTrouble[];
}

interface NodeOptions extends Pick<GrpcSettings, 'tls'> {
  readonly config?: Partial<ClusterConfig>;
  readonly receive?: LinksHost['receive'];
}

const noHandle = { cancel() {}, grant() {}, detach() {} };

async function startNode(t: ExecutionContext, name: string, options: NodeOptions = {}): Promise<Node> {
  const self = processId(name);
  // A machine that does other work takes its time for TLS.
  const config = clusterConfig({ connectTimeoutMs: 15_000, ...options.config });
  const troubles: LinkTrouble[] = [];
  const link = { cluster: 'test', secret: 'secret' };
  const settings: GrpcSettings = {
    self,
    ...link,
    host: '127.0.0.1',
    port: 0,
    ...(options.tls === undefined ? {} : { tls: options.tls }),
    report: (trouble) => troubles.push(trouble),
  };
  const peers = new GrpcPeers(settings, config, systemTime, systemRandom);
  peers.answerWith(() => ({ from: self, confirmed: true, reachesMemberStore: true, view: emptyView }));
  const links = new Links(peers, link, config, systemTime, systemRandom, {
    self,
    mayAct: () => true,
    view: () => ({ number: viewNumber(1), hash: 'h' }),
    heardOfView() {},
    receive:
      options.receive ??
      ((call) => {
        call.answer.reply(Buffer.from(name), epoch(0));
        return noHandle;
      }),
    refused() {},
  });
  const address = await links.listen();
  t.teardown(() => links.close());
  const member: Member = { process: self, address, weight: 1, roles: ['worker'], host: 'h', pid: 1 };
  return { links, peers, member, troubles };
}

/** The answer to another process that asks for this one's name. */
function ask(from: Node, to: Member): Promise<string> {
  return new Promise((resolve) => {
    from.links.call(
      to,
      processQuestion({
        mode: 'describe',
        kind: actorKind('test.Kind'),
        deadlineMs: 5_000,
        answer: {
          reply: (body) => resolve(Buffer.from(body).toString()),
          fail: (error) => resolve(error.tag),
        },
      }),
    );
  });
}

const hello = {
  protocolMin: 1,
  protocolMax: 9,
  cluster: 'test',
  from: 'stranger',
  to: 'server',
  nonce: Buffer.alloc(16),
  proof: Buffer.alloc(32),
};

async function cutsOff(t: ExecutionContext, messages: readonly Uint8Array[], tag: string): Promise<void> {
  const server = await startNode(t, 'server');
  const caller = await startNode(t, 'caller');
  const stranger = new RawPeer(t, server.member.address);
  const stream = stranger.stream();
  for (const message of messages) stream.message(message);
  await eventually(() => !stranger.isOpen, { what: 'the stranger is cut off' });
  t.deepEqual(
    server.troubles.map(({ error }) => error.tag),
    [tag],
  );
  t.is(await ask(caller, server.member), 'server');
}

test('a stranger sends a million empty frames in one message, and ends only its own stream', async (t) => {
  const server = await startNode(t, 'server');
  const caller = await startNode(t, 'caller');
  const stream = new RawPeer(t, server.member.address).stream();
  stream.message(emptyFrames(1_000_000));
  await eventually(() => !stream.isOpen, { what: 'the stream of the stranger has ended' });
  t.is(await ask(caller, server.member), 'server');
});

test('a stranger sends more than a few KB, which are refused undecoded', (t) =>
  cutsOff(t, [emptyFrames(30_000)], 'message_too_large'));

test('a stranger sends many frames in a few KB', (t) =>
  cutsOff(t, [emptyFrames(1_500)], 'protocol_violation'));

test('a stranger sends a message without a frame', (t) =>
  cutsOff(t, [new Uint8Array(0)], 'protocol_violation'));

test('a stranger sends bytes that are no frames', (t) =>
  cutsOff(t, [Buffer.from([0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f])], 'bad_message'));

test('a stranger sends a greeting without a proof, and frames behind it', async (t) => {
  const server = await startNode(t, 'server');
  const stranger = new RawPeer(t, server.member.address);
  const stream = stranger.stream();
  stream.message(batchOf({ frame: { $case: 'hello', value: hello } }));
  stream.message(batchOf({ frame: { $case: 'ping', value: {} } }));
  await eventually(() => !stream.isOpen, { what: 'its stream has ended' });
  t.is(server.links.served, 0);
  t.true(server.troubles.some(({ error }) => error.tag === 'wrong_secret'));
});

test('an error in a listener closes its pipe, is reported, and goes no further', async (t) => {
  const troubles: LinkTrouble[] = [];
  const peers = new GrpcPeers(
    {
      self: processId('server'),
      cluster: 'test',
      secret: 'secret',
      host: '127.0.0.1',
      port: 0,
      report: (trouble) => troubles.push(trouble),
    },
    clusterConfig(),
    systemTime,
    systemRandom,
  );
  const listener = await peers.listen((pipe) => {
    pipe.onFrames(() => {
      throw new RangeError('a defect');
    });
    pipe.onClose(() => {
      throw new TypeError('a second one');
    });
  });
  t.teardown(() => listener.close());
  const stranger = new RawPeer(t, listener.address);
  stranger.stream().message(batchOf({ frame: { $case: 'ping', value: {} } }));
  await eventually(() => !stranger.isOpen, { what: 'its connection is closed' });
  t.deepEqual(
    troubles.map(({ error }) => error.message),
    ['protocol_violation: a defect', 'protocol_violation: a second one'],
  );
});

test('a call that makes its receiver throw ends only its link', async (t) => {
  const server = await startNode(t, 'server', {
    receive: () => {
      throw new RangeError('a defect');
    },
  });
  const caller = await startNode(t, 'caller');
  t.is(await ask(caller, server.member), 'peer_lost');
  t.deepEqual(
    server.troubles.map(({ error }) => error.message),
    ['protocol_violation: a defect'],
  );
  t.is(await ask(server, caller.member), 'caller');
});

test('a peer that does not authenticate in time is disconnected, whatever it has sent', async (t) => {
  // Long enough for the peer below, also on a machine that does other work.
  const server = await startNode(t, 'server', { config: { greetingMs: 2_500 } });
  const silent = open(t, server.member);
  const idle = new RawPeer(t, server.member.address);
  const halfway = new RawPeer(t, server.member.address);
  halfway.stream().raw(Buffer.from([0, 0, 0]));
  await eventually(() => silent.destroyed && !idle.isOpen && !halfway.isOpen, { what: 'all are cut off' });
  const caller = await startNode(t, 'caller');
  t.is(await ask(caller, server.member), 'server');
  const later = open(t, server.member);
  await eventually(() => later.destroyed, { what: 'one that came later is cut off' });
  t.is(caller.links.open, 1, 'a peer that proved itself stays');
});

test('with TLS, a peer that never starts its handshake is disconnected too', async (t) => {
  const server = await startNode(t, 'server', { tls, config: { greetingMs: 300 } });
  const silent = open(t, server.member);
  await eventually(() => silent.destroyed, { what: 'it is cut off' });
  t.pass();
});

test('unauthenticated connections are few at a time, and a flood of them keeps no peer out', async (t) => {
  const server = await startNode(t, 'server', {
    config: { neighboursMax: 4, strangersMax: 8, greetingMs: 60_000 },
  });
  const flood = Array.from({ length: 40 }, () => open(t, server.member));
  await eventually(() => flood.filter(({ destroyed }) => destroyed).length >= 32, {
    what: 'most are cut off',
  });
  const caller = await startNode(t, 'caller');
  t.is(await ask(caller, server.member), 'server');
  t.true(flood.some(({ destroyed }) => !destroyed));
});

test('one connection carries few streams', async (t) => {
  const server = await startNode(t, 'server', { config: { connectionStreamsMax: 2 } });
  const stranger = new RawPeer(t, server.member.address);
  const first = stranger.stream();
  await eventually(() => first.receivedBytes > 0, { what: 'the first is challenged' });
  const more = Array.from({ length: 20 }, () => stranger.stream());
  await eventually(() => more.some(({ receivedBytes }) => receivedBytes > 0));
  // The node may answer the first before it has challenged them all, but not the second.
  await stranger.answered();
  await stranger.answered();
  t.is(more.filter(({ receivedBytes }) => receivedBytes > 0).length, 1);
  t.true(first.isOpen);
});

test('a greeting relayed by another address is refused, for calls and for probes', async (t) => {
  const server = await startNode(t, 'server');
  const caller = await startNode(t, 'caller');
  const proxy = await TcpProxy.before(`tcp://${server.member.address}`);
  t.teardown(() => proxy.close());
  const relayed: Member = { ...server.member, address: new URL(proxy.url).host };
  t.is(await ask(caller, relayed), 'wrong_secret');
  const error = await t.throwsAsync(probe(caller, relayed), { instanceOf: ClusterError });
  t.is(error?.tag, 'wrong_secret');
  const another = await startNode(t, 'another');
  t.is(await ask(another, server.member), 'server');
  t.is((await probe(another, server.member)).outcome, 'replied');
});

test('with TLS, a greeting relayed by a holder of the same certificate is refused', async (t) => {
  const server = await startNode(t, 'server', { tls });
  const caller = await startNode(t, 'caller', { tls });
  const relayed: Member = { ...server.member, address: await relayOverTls(t, server.member) };
  t.is(await ask(caller, relayed), 'wrong_secret');
  const error = await t.throwsAsync(probe(caller, relayed), { instanceOf: ClusterError });
  t.is(error?.tag, 'wrong_secret');
  const another = await startNode(t, 'another', { tls });
  t.is(await ask(another, server.member), 'server');
  t.is((await probe(another, server.member)).outcome, 'replied');
});

test('without TLS a node listens and dials only on the loopback by default', async (t) => {
  const settings = { self: processId('server'), cluster: 'test', secret: 'secret', port: 0 };
  const peers = (host: string, plaintext?: 'anywhere') =>
    new GrpcPeers(
      { ...settings, host, ...(plaintext === undefined ? {} : { plaintext }) },
      clusterConfig(),
      systemTime,
      systemRandom,
    );
  const listening = await t.throwsAsync(
    peers('0.0.0.0').listen(() => undefined),
    { instanceOf: ClusterError },
  );
  t.is(listening?.tag, 'not_serving');
  const far: Member = {
    process: processId('far'),
    address: '192.0.2.1:9090',
    weight: 1,
    roles: [],
    host: 'h',
    pid: 1,
  };
  const { signal } = new AbortController();
  const dialing = await t.throwsAsync(peers('127.0.0.1').dial(far, signal), { instanceOf: ClusterError });
  t.is(dialing?.tag, 'not_serving');
  const listener = await peers('0.0.0.0', 'anywhere').listen(() => undefined);
  await listener.close();
});

const file = (name: string) => readFileSync(`test/fixtures/tls/${name}`);
const tls: GrpcTls = {
  ca: file('ca.crt'),
  cert: file('node.crt'),
  key: file('node.key'),
  serverName: 'node.troupe.test',
};

function open(t: ExecutionContext, { address }: Member): Socket {
  const { hostname, port } = new URL(`tcp://${address}`);
  const socket = connect({ host: hostname, port: Number(port) });
  socket.on('error', () => undefined);
  socket.resume();
  t.teardown(() => socket.destroy());
  return socket;
}

function probe(from: Node, to: Member) {
  const request = {
    from: from.member.process,
    view: { number: emptyView.number, hash: emptyView.hash },
    confirm: false,
    exited: undefined,
  };
  return from.peers.ask(to, request, AbortSignal.timeout(10_000));
}

/** Ends the TLS of the dialer and begins another to the node, with the certificate that the whole cluster has. */
function relayOverTls(t: ExecutionContext, to: Member): Promise<string> {
  const { hostname, port } = new URL(`tcp://${to.address}`);
  const own = { ca: file('ca.crt'), cert: file('node.crt'), key: file('node.key'), ALPNProtocols: ['h2'] };
  const server = createTlsServer({ ...own, requestCert: true }, (near) => {
    const far = connectTls({ ...own, host: hostname, port: Number(port), servername: 'node.troupe.test' });
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      one.pipe(other);
      one.on('error', () => other.destroy());
      one.on('close', () => other.destroy());
    }
  });
  t.teardown(() => server.close());
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      const bound = server.address();
      resolve(`127.0.0.1:${typeof bound === 'object' ? bound?.port : 0}`);
    });
  });
}
