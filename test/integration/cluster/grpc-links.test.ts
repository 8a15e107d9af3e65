import { readFileSync } from 'node:fs';
import test, { type ExecutionContext } from 'ava';
import type { Call } from '../../../cluster/activation/call.js';
import { volatileActor } from '../../../cluster/activation/kind.js';
import { clusterConfig } from '../../../cluster/config.js';
import { ClusterError } from '../../../cluster/errors.js';
import { volatileCounter } from '../../../cluster/example/counter.js';
import { processId, viewNumber } from '../../../cluster/ids/ids.js';
import { GrpcPeers } from '../../../cluster/links/grpc/peers.js';
import { type GrpcTls, RenewableTls } from '../../../cluster/links/grpc/renewable-tls.js';
import { greet } from '../../../cluster/links/handshake.js';
import type { Member } from '../../../cluster/membership/membership.js';
import type { ProbeRequest } from '../../../cluster/membership/peer-probe.js';
import { emptyView, makeView } from '../../../cluster/membership/view.js';
import { ClusterNode } from '../../../cluster/node/node.js';
import { ScriptedMembers, type ScriptedMembership } from '../../../cluster/simulation/scripted-membership.js';
import { sharedRings } from '../../../cluster/simulation/shared-rings.js';
import { systemRandom, systemTime } from '../../../cluster/time/system.js';
import { CounterServiceDefinition } from '../../../generated/troupe/examples/v1/counter.js';
import { eventually } from '../../support/clocks/eventually.js';

const config = clusterConfig({ connectTimeoutMs: 1_000 });
const counter = volatileCounter(systemTime);
/** Its turns end only when their calls end. */
const waiting = volatileActor({
  service: CounterServiceDefinition,
  name: 'test.Waiting',
  create: () => ({
    add: (_: unknown, call: Call) =>
      new Promise<{ sum: number }>((resolve) => {
        call.signal.addEventListener('abort', () => resolve({ sum: 0 }), { once: true });
      }),
    read: () => ({ sum: 0 }),
    where: () => ({ process: '' }),
    async *count() {},
  }),
});
const buildRing = sharedRings();

interface RealNode {
  readonly node: ClusterNode;
  readonly peers: GrpcPeers;
  readonly membership: ScriptedMembership;
  readonly member: Member;
}

class RealCluster {
  readonly members = new ScriptedMembers();
  readonly nodes: RealNode[] = [];

  constructor(t: ExecutionContext) {
    t.teardown(() => Promise.all(this.nodes.map(({ node }) => node.stop())));
  }

  async add(
    name: string,
    options: { secret?: string; tls?: GrpcTls | RenewableTls } = {},
  ): Promise<RealNode> {
    const process = processId(`${name}-${systemRandom.id().slice(0, 8)}`);
    const link = { cluster: 'test', secret: options.secret ?? 'secret' };
    const tls = options.tls === undefined ? {} : { tls: options.tls };
    const settings = { self: process, ...link, host: '127.0.0.1', port: 0, ...tls };
    const peers = new GrpcPeers(settings, config, systemTime, systemRandom);
    let address = '';
    const transport = {
      dial: peers.dial.bind(peers),
      listen: async (accept: Parameters<GrpcPeers['listen']>[0]) => {
        const listener = await peers.listen(accept);
        address = listener.address;
        return listener;
      },
    };
    const member: Member = {
      process,
      get address() {
        return address;
      },
      weight: 1,
      roles: ['worker'],
      host: 'h',
      pid: 1,
    };
    const membership = this.members.join(member);
    const node = new ClusterNode({
      kinds: [counter, waiting],
      membership,
      transport,
      link,
      config,
      time: systemTime,
      random: systemRandom,
      buildRing,
    });
    await node.listen();
    await node.start(new AbortController().signal);
    const added = { node, peers, membership, member };
    this.nodes.push(added);
    return added;
  }

  join(): void {
    this.members.publish(this.nodes.map(({ member }) => member.process));
  }

  /** A key whose actors `owner` owns. */
  keyOf(owner: RealNode): string {
    for (let index = 0; index < 1_000; index += 1) {
      const kinds = [counter, waiting];
      if (kinds.every((kind) => owner.node.owns(owner.node.slotOf(kind, 'acme', `k${index}`))))
        return `k${index}`;
    }
    throw new Error('no key is owned by that node');
  }
}

async function two(t: ExecutionContext, options: { tls?: GrpcTls } = {}) {
  const cluster = new RealCluster(t);
  const one = await cluster.add('one', options);
  const other = await cluster.add('other', options);
  cluster.join();
  await eventually(
    () => one.node.ring.view.members.length === 2 && other.node.ring.view.members.length === 2,
  );
  return { cluster, one, other, key: cluster.keyOf(other) };
}

test('calls and streams work over real links', async (t) => {
  const { one, other, key } = await two(t);
  const reference = one.node.actor(counter, 'acme', key);
  t.is((await reference.where({})).process, other.member.process);
  const sums = await Promise.all(Array.from({ length: 500 }, () => reference.add({ amount: 1 })));
  t.deepEqual(
    sums.map(({ sum }) => sum),
    Array.from({ length: 500 }, (_, index) => index + 1),
  );
  const seen: number[] = [];
  for await (const { number } of reference.count({ after: 0, to: 5_000, pauseMs: 0 })) seen.push(number);
  t.is(seen.length, 5_000);
});

test('links work over mutual TLS, and a peer without a certificate cannot connect', async (t) => {
  const read = (name: string) => readFileSync(`test/fixtures/tls/${name}`);
  const tls: GrpcTls = {
    ca: read('ca.crt'),
    cert: read('node.crt'),
    key: read('node.key'),
    serverName: 'node.troupe.test',
  };
  const { cluster, one, other, key } = await two(t, { tls });
  t.is((await one.node.actor(counter, 'acme', key).where({})).process, other.member.process);
  const stranger = await cluster.add('stranger');
  cluster.members.publish([stranger.member.process, other.member.process]);
  await eventually(() => stranger.node.ring.view.members.length === 2);
  const error = await t.throwsAsync(
    stranger.node.actor(counter, 'acme', cluster.keyOf(other)).where({}, { deadlineMs: 1_000 }),
    { instanceOf: ClusterError },
  );
  t.is(error?.tag, 'deadline_exceeded');
});

test('links that are opened after a renewal use the renewed certificate at both ends', async (t) => {
  const read = (name: string) => readFileSync(`test/fixtures/tls/${name}`);
  const serverName = 'node.troupe.test';
  const former: GrpcTls = { ca: read('ca.crt'), cert: read('node.crt'), key: read('node.key'), serverName };
  const renewed = {
    ca: read('renewed-ca.crt'),
    cert: read('renewed.crt'),
    key: read('renewed.key'),
    serverName,
  };
  const cluster = new RealCluster(t);
  const tls = new RenewableTls(former);
  const one = await cluster.add('one', { tls });
  const other = await cluster.add('other', { tls });
  cluster.join();
  await eventually(() => [one, other].every(({ node }) => node.ring.view.members.length === 2));
  const ofOther = one.node.actor(counter, 'acme', cluster.keyOf(other));
  t.is((await ofOther.where({})).process, other.member.process);

  tls.renew(renewed);
  t.is((await ofOther.where({})).process, other.member.process, 'an open link goes on');
  // This one trusts the new authority alone.
  const joined = await cluster.add('joined', { tls: renewed });
  cluster.join();
  await eventually(() => [one, joined].every(({ node }) => node.ring.view.members.length === 3));
  const ofJoined = one.node.actor(counter, 'acme', cluster.keyOf(joined));
  t.is((await ofJoined.where({})).process, joined.member.process);
  const ofOne = joined.node.actor(counter, 'acme', cluster.keyOf(one));
  t.is((await ofOne.where({})).process, one.member.process);
});

test('a peer with another secret is refused with wrong_secret', async (t) => {
  const cluster = new RealCluster(t);
  const one = await cluster.add('one');
  const other = await cluster.add('other', { secret: 'another' });
  cluster.join();
  await eventually(() => one.node.ring.view.members.length === 2);
  const error = await t.throwsAsync(one.node.actor(counter, 'acme', cluster.keyOf(other)).where({}), {
    instanceOf: ClusterError,
  });
  t.is(error?.tag, 'wrong_secret');
});

test('another process at the address is refused, and counts as a vote to remove the expected process', async (t) => {
  const { cluster, one, other } = await two(t);
  const expected = { ...other.member, process: processId('another-process') };
  cluster.members.join(expected);
  cluster.members.publish([one.member.process, expected.process]);
  await eventually(() => one.membership.refused.includes(expected.process));
  t.pass();
});

test('an unsupported protocol version is refused with protocol_mismatch', async (t) => {
  const { one, other } = await two(t);
  const pipe = await one.peers.dial(other.member, new AbortController().signal);
  const settings = {
    cluster: 'test',
    secret: 'secret',
    self: one.member.process,
    purpose: 'calls' as const,
    timeoutMs: 20_000,
    protocols: { min: 7, max: 9 },
  };
  const error = await t.throwsAsync(greet(pipe, other.member.process, settings, systemTime, systemRandom), {
    instanceOf: ClusterError,
  });
  t.is(error?.tag, 'protocol_mismatch');
  pipe.close();
});

test('calls to a peer that vanishes fail at once with a retryable error', async (t) => {
  const { one, other, key } = await two(t);
  const reference = one.node.actor(counter, 'acme', key);
  await reference.where({});
  const startedAt = systemTime.monotonicMs();
  const outcome = t.throwsAsync(one.node.actor(waiting, 'acme', key).add({ amount: 1 }), {
    instanceOf: ClusterError,
  });
  await eventually(() => other.node.describe().busy === 1);
  other.membership.fence();
  await other.node.stop();
  const error = await outcome;
  t.true(error?.tag === 'peer_lost' || error?.tag === 'fenced', error?.message);
  t.is(error?.retry, 'same');
  t.true(systemTime.monotonicMs() - startedAt < 15_000);
});

test('an address without a listener counts as refused', async (t) => {
  const { cluster, one } = await two(t);
  const dead: Member = { ...one.member, process: processId('dead'), address: '127.0.0.1:1' };
  cluster.members.join(dead);
  cluster.members.publish([one.member.process, dead.process]);
  await eventually(() => one.membership.refused.includes(dead.process));
  t.pass();
});

test('probes are answered over their own channel; another process or a dead address refuses them', async (t) => {
  const { one, other } = await two(t);
  const view = makeView(viewNumber(9), [one.member, other.member]);
  const asked: ProbeRequest[] = [];
  other.peers.answerWith((request) => {
    asked.push(request);
    return { from: other.member.process, confirmed: true, reachesMemberStore: false, view };
  });
  const request: ProbeRequest = {
    from: one.member.process,
    view: { number: emptyView.number, hash: emptyView.hash },
    confirm: true,
    exited: processId('gone'),
  };
  const { signal } = new AbortController();
  const answer = await one.peers.ask(other.member, request, signal);
  t.deepEqual(asked, [request]);
  if (answer.outcome === 'replied') {
    t.deepEqual(
      {
        ...answer.reply,
        view: { ...answer.reply.view, members: answer.reply.view.members.map((m) => m.process) },
      },
      {
        from: other.member.process,
        confirmed: true,
        reachesMemberStore: false,
        view: { number: view.number, hash: view.hash, members: view.members.map((m) => m.process) },
      },
    );
  } else t.fail('the probe was refused');
  t.is(
    (await one.peers.ask({ ...other.member, process: processId('x') }, request, signal)).outcome,
    'refused',
  );
  const dead = { ...other.member, address: '127.0.0.1:1' };
  t.is((await one.peers.ask(dead, request, signal)).outcome, 'refused');
});
