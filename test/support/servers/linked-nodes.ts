// Nodes of different versions in one process, which call each other's actors over real gRPC links. The test sets their views.
import type { ExecutionContext } from 'ava';
import {
  type ActorKindOf,
  clusterConfig,
  ClusterNode,
  GroupCommit,
  GrpcPeers,
  type Kind,
  type Member,
  PostgresFenceStore,
  type PostgresTables,
  type ProcessId,
  processId,
  type Reference,
  type ServiceShape,
  type Slot,
  systemRandom,
  systemTime,
} from '../../../cluster/index.js';
import { ScriptedMembers } from '../../../cluster/simulation/scripted-membership.js';
import { sharedRings } from '../../../cluster/simulation/shared-rings.js';
import { kindOfVersion, type WireVersion } from '../builders/wire-versions.js';
import { eventually } from '../clocks/eventually.js';
import { databaseConnectMs } from '../database/database.js';

const config = clusterConfig({ connectTimeoutMs: 5_000 });
const buildRing = sharedRings();

/** The actors of one node, as subjects of the platform use them. */
export class LinkedNode {
  readonly process: ProcessId;
  readonly #databaseUrl: string;
  readonly #version: WireVersion | undefined;
  readonly #kinds: Kind[] = [];
  readonly #closing: (() => Promise<unknown>)[] = [];
  #node: ClusterNode | undefined;

  /** Without a version: today's. */
  constructor(name: string, databaseUrl: string, version: WireVersion | undefined) {
    this.process = processId(`${name}-${systemRandom.id().slice(0, 8)}`);
    this.#databaseUrl = databaseUrl;
    this.#version = version;
  }

  register(kind: Kind): void {
    this.#kinds.push(this.#ofVersion(kind));
  }

  references<Service extends ServiceShape>(
    kind: ActorKindOf<Service>,
  ): (group: string, key: string) => Reference<Service> {
    const own = this.#ofVersion(kind);
    return (group, key) => this.#started().actor(own, group, key);
  }

  commits<Load, Loaded, Write, Result>(
    tables: PostgresTables<Load, Loaded, Write, Result>,
  ): GroupCommit<Load, Loaded, Write, Result> {
    const store = new PostgresFenceStore(tables, {
      databaseUrl: this.#databaseUrl,
      role: 'troupe_writer',
      statementTimeoutMs: config.statementTimeoutMs,
      connectTimeoutMs: databaseConnectMs,
      time: systemTime,
    });
    this.#closing.push(() => store.close());
    return new GroupCommit(store, config, systemTime, systemRandom);
  }

  surelyGone(): boolean {
    return false;
  }

  owns(slot: Slot): boolean {
    return this.#started().owns(slot);
  }

  /** By the name of the actor's kind, which is that of its service. */
  ownsActor(name: string, group: string, key: string): boolean {
    const kind = this.#kinds.find((one) => one.name === name);
    if (kind === undefined) throw new Error(`the node has no kind ${name}`);
    return this.owns(this.#started().slotOf(kind, group, key));
  }

  get members(): number {
    return this.#started().ring.view.members.length;
  }

  async start(members: ScriptedMembers): Promise<void> {
    const link = { cluster: 'versions', secret: 'secret' };
    const settings = { self: this.process, ...link, host: '127.0.0.1', port: 0 };
    const peers = new GrpcPeers(settings, config, systemTime, systemRandom);
    let address = '';
    const member: Member = {
      process: this.process,
      get address() {
        return address;
      },
      weight: 1,
      roles: ['worker'],
      host: 'h',
      pid: 1,
    };
    this.#node = new ClusterNode({
      kinds: this.#kinds,
      membership: members.join(member),
      transport: {
        dial: peers.dial.bind(peers),
        async listen(accept) {
          const listener = await peers.listen(accept);
          address = listener.address;
          return listener;
        },
      },
      link,
      config,
      time: systemTime,
      random: systemRandom,
      buildRing,
    });
    await this.#node.listen();
    await this.#node.start(new AbortController().signal);
  }

  async stop(): Promise<void> {
    await this.#node?.stop();
    for (const close of this.#closing) await close();
  }

  #ofVersion<AnyKind extends Kind>(kind: AnyKind): AnyKind {
    return this.#version === undefined ? kind : kindOfVersion(kind, this.#version);
  }

  #started(): ClusterNode {
    if (this.#node === undefined) throw new Error('the node has not started');
    return this.#node;
  }
}

/** Starts the nodes, once their kinds are registered, as the members of one view. They stop with the test. */
export async function linkNodes(t: ExecutionContext, nodes: readonly LinkedNode[]): Promise<ScriptedMembers> {
  const members = new ScriptedMembers();
  t.teardown(() => Promise.all(nodes.map((node) => node.stop())));
  for (const node of nodes) await node.start(members);
  members.publish(nodes.map(({ process }) => process));
  await eventually(() => nodes.every((node) => node.members === nodes.length), {
    what: 'all nodes have the view',
  });
  return members;
}
