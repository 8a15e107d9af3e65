// Many whole nodes of the runtime on one virtual clock: membership, ring, router, links. Only the stores and the network
// are simulated.
import { answers, jsonService } from '../../../cluster/activation/json-service.js';
import { volatileActor } from '../../../cluster/activation/kind.js';
import { clusterConfig, type ClusterConfig } from '../../../cluster/config.js';
import { spokenProtocols } from '../../../cluster/links/protocol.js';
import { processId } from '../../../cluster/ids/ids.js';
import { ClusterMembership } from '../../../cluster/membership/cluster-membership.js';
import type { Member, View } from '../../../cluster/membership/membership.js';
import { emptyView, makeView } from '../../../cluster/membership/view.js';
import { ClusterNode } from '../../../cluster/node/node.js';
import { buildRing, Ring } from '../../../cluster/ring/ring.js';
import type { BuildRing } from '../../../cluster/routing/ring-keeper.js';
import { SimulatedHost } from '../../../cluster/simulation/host.js';
import { MemoryMembers, MemoryNumbers } from '../../../cluster/simulation/member-store.js';
import { SimulatedNetwork } from '../../../cluster/simulation/network.js';
import { SeededRandom, VirtualTime } from '../../../cluster/simulation/virtual-time.js';
import { transitOf } from '../transit.js';
import { countedStore, type StoreTraffic } from './counted-store.js';
import { moved, sessionAddress, type Move, type Sessions } from './placement.js';

const session = volatileActor({
  service: jsonService('sim.v1.Session', { read: answers<object, { process: string }>() }),
  methods: { read: { idempotent: true } },
  create: (activation) => ({ read: () => ({ process: activation.process }) }),
});

export interface ScaleNode {
  readonly name: string;
  readonly zone: number;
  readonly host: SimulatedHost;
  readonly member: Member;
  readonly membership: ClusterMembership;
  readonly node: ClusterNode;
}

export interface Calls {
  sent: number;
  answered: number;
  failed: number;
  slowestMs: number;
}

export class ScaleWorld {
  readonly time = new VirtualTime();
  readonly random: SeededRandom;
  readonly network: SimulatedNetwork;
  readonly store: MemoryMembers;
  readonly numbers = new MemoryNumbers(this.time);
  readonly config: ClusterConfig;
  readonly traffic: StoreTraffic = { reads: 0, bytes: 0, changes: 0 };
  readonly fenced: string[] = [];
  readonly #sessions: Sessions;
  readonly #nodes = new Set<ScaleNode>();
  readonly #owners = new Map<string, Uint16Array>();
  #ring = buildRing(emptyView);
  #moves: Move[] = [];
  /** How long the tables of owners took to build, in real time. */
  readonly builds = { fullMs: 0, changes: 0, changeMs: 0 };

  constructor(sessions: Sessions, seed: number, changes: Partial<ClusterConfig> = {}) {
    this.#sessions = sessions;
    this.random = new SeededRandom(seed);
    this.network = new SimulatedNetwork(this.time, this.random);
    this.store = new MemoryMembers(this.time, this.random);
    this.config = clusterConfig(changes);
  }

  get nodes(): readonly ScaleNode[] {
    return [...this.#nodes];
  }

  get ring(): Ring {
    return this.#ring;
  }

  /** What moved since the last question, one entry for each change of the view. */
  takeMoves(): readonly Move[] {
    return this.#moves.splice(0);
  }

  start(name: string, zone: number): ScaleNode {
    const host = new SimulatedHost(this.time, name);
    const member: Member = {
      process: processId(name),
      address: `${name}:1`,
      weight: 1,
      roles: ['worker', 'edge'],
      host: name,
      pid: 1,
      version: '0.2.0',
      protocols: spokenProtocols,
    };
    const transit = transitOf(this, host, () => true);
    const membership = new ClusterMembership({
      self: member,
      store: countedStore(this.store.client(transit, host.time), this.traffic),
      numbers: this.numbers.client(transit),
      probe: this.network.probe(host),
      time: host.time,
      random: this.random,
      config: this.config,
    });
    const node = new ClusterNode({
      kinds: [session],
      membership,
      transport: this.network.transport(host, member.address),
      link: { cluster: 'sim', secret: 'sim' },
      config: this.config,
      time: host.time,
      random: this.random,
      buildRing: this.#build,
    });
    const started: ScaleNode = { name, zone, host, member, membership, node };
    this.#nodes.add(started);
    membership.onFenced(() => {
      this.fenced.push(name);
      this.#nodes.delete(started);
      host.kill();
    });
    void node
      .listen()
      .then(() => node.start(new AbortController().signal))
      .catch((error: unknown) => this.fenced.push(`${name}: ${String(error)}`));
    return started;
  }

  /** Its machine loses power: connections fall silent instead of breaking. */
  loseMachine(one: ScaleNode): void {
    this.network.vanish(one.name);
    this.#nodes.delete(one);
    one.host.kill();
  }

  /** Leaves in order, as on a signal of a supervisor. */
  async leave(one: ScaleNode): Promise<void> {
    this.#nodes.delete(one);
    await one.node.stop();
    one.host.kill();
  }

  /** All living nodes route by the view that names them and nobody else. */
  get agree(): boolean {
    const living = this.nodes;
    const { hash } = makeView(
      this.#ring.view.number,
      living.map(({ member }) => member),
    );
    return living.every(({ node }) => node.ring.view.hash === hash && node.ready);
  }

  /** Calls random sessions from random nodes until the result is called. Callers that die do not count. */
  load(perSecond: number): () => Calls {
    const calls: Calls = { sent: 0, answered: 0, failed: 0, slowestMs: 0 };
    let stopped = false;
    const send = (): void => {
      if (stopped) return;
      this.time.after(1_000 / perSecond, send);
      const from = this.random.pick(this.nodes);
      if (!from.node.ready) return;
      const { group, key } = sessionAddress(this.random.between(0, this.#sessions.count - 1));
      const sentMs = this.time.monotonicMs();
      const settle = (field: 'answered' | 'failed') => (): void => {
        if (!this.#nodes.has(from)) return;
        calls[field] += 1;
        calls.sent += 1;
        calls.slowestMs = Math.max(calls.slowestMs, this.time.monotonicMs() - sentMs);
      };
      from.node.actor(session, group, key).read({}).then(settle('answered'), settle('failed'));
    };
    send();
    return () => {
      stopped = true;
      return calls;
    };
  }

  /** Virtual milliseconds until all agree. */
  async converge(boundMs: number): Promise<number> {
    const startedMs = this.time.monotonicMs();
    await this.time.until(() => this.agree, boundMs, 50);
    return this.time.monotonicMs() - startedMs;
  }

  readonly #build: BuildRing = (view: View, previous: Ring) => {
    const known = this.#owners.get(view.hash);
    const startedMs = performance.now();
    const ring = known === undefined ? buildRing(view, previous) : new Ring(view, known);
    if (known === undefined) {
      const tookMs = performance.now() - startedMs;
      if (previous.view.members.length === 0) this.builds.fullMs = Math.max(this.builds.fullMs, tookMs);
      else {
        this.builds.changes += 1;
        this.builds.changeMs += tookMs;
      }
      this.#owners.set(view.hash, ring.owners);
    }
    if (view.number > this.#ring.view.number) {
      if (this.#ring.view.members.length > 0) this.#moves.push(moved(this.#ring, ring, this.#sessions));
      this.#ring = ring;
    }
    return Promise.resolve(ring);
  };
}
