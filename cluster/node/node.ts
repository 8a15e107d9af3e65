import { ActorTable } from '../activation/actor-table.js';
import type { ActorKindOf, Kind } from '../activation/kind.js';
import type { ServiceShape } from '../activation/method.js';
import type { Reference } from '../activation/service.js';
import type { ClusterConfig } from '../config.js';
import { ClusterError } from '../errors.js';
import { drain, type DrainResult } from '../drain/drain.js';
import { addressText, type ProcessId, type Slot } from '../ids/ids.js';
import { Links, type LinkSettings } from '../links/links.js';
import type { Transport } from '../links/pipe.js';
import { Departures } from '../membership/departures.js';
import type { Member, Membership, View, ViewName } from '../membership/membership.js';
import type { Ring } from '../ring/ring.js';
import { Handoff } from '../routing/handoff.js';
import { Receiver } from '../routing/receiver.js';
import { referencesTo, type Caller } from '../routing/reference.js';
import { RingKeeper, ringBuilder, type BuildRing } from '../routing/ring-keeper.js';
import { Router } from '../routing/router.js';
import { targetOf } from '../routing/target.js';
import { Deadlines } from '../time/deadlines.js';
import type { Random, Time } from '../time/time.js';
import type { ProtocolTrace } from '../trace/events.js';
import type { LoopLag } from '../time/loop-lag.js';
import type { NoteQueue } from '../measures/queues.js';
import { RingHistory } from './ring-history.js';
import { askProcess } from './ask-process.js';
import { describeNode, type ActorLocation, type NodeDescription } from './describe.js';
import { describeCluster, descriptionBytes, type ClusterDescription } from './describe-cluster.js';

export interface NodeParts {
  readonly kinds: readonly Kind[];
  readonly membership: Membership;
  readonly transport: Transport;
  readonly link: LinkSettings;
  readonly config: ClusterConfig;
  readonly time: Time;
  readonly random: Random;
  readonly buildRing?: BuildRing;
  /** Ends outside effects that no actor makes, before the lease is released. It must end by itself. */
  readonly beforeLeave?: () => Promise<void>;
  /** A peer asks this process to leave in order: it ends by itself, after `stop`. Without it, peers are refused. */
  readonly onLeaveAsked?: () => void;
  /** Measures the event loop lag for the description. */
  readonly loopLag?: LoopLag;
  /** Receives the steps of the protocol, for a checker (`cluster/trace`). */
  readonly trace?: ProtocolTrace;
}

/** One process of the cluster: builds its parts in order and stops them in reverse. */
export class ClusterNode {
  readonly process: ProcessId;
  readonly #parts: NodeParts;
  readonly #kinds: ReadonlyMap<string, Kind>;
  readonly #rings: RingKeeper;
  readonly #table: ActorTable;
  readonly #links: Links;
  readonly #router: Router;
  readonly #receiver: Receiver;
  readonly #departures: Departures;
  readonly #ringListeners = new Set<(ring: Ring, before: Ring) => void>();
  readonly #unsubscribe: (() => void)[] = [];
  readonly #history: RingHistory;
  #fenced = 0;
  #missedViews = 0;
  #stopped: Promise<DrainResult> | undefined;

  constructor(parts: NodeParts) {
    const { membership, config, time, random, trace } = parts;
    this.#parts = parts;
    this.process = membership.self.process;
    this.#kinds = new Map(parts.kinds.map((kind) => [kind.name, kind]));
    this.#history = new RingHistory((process) => membership.leavers.why(process));
    const deadlines = new Deadlines(time);
    this.#departures = new Departures(membership);
    this.#rings = new RingKeeper(parts.buildRing ?? ringBuilder(time), this.process, (ring, before) =>
      this.#onRing(ring, before),
    );
    const view = (): ViewName => this.#rings.view;
    this.#links = new Links(parts.transport, parts.link, config, time, random, {
      self: this.process,
      mayAct: () => membership.mayAct(),
      view,
      heardOfView: (name) => this.#catchUp(name),
      receive: (call) => this.#receiver.receive(call),
      refused: (process) => membership.reportRefused(process),
    });
    const handoff = new Handoff({
      config,
      time,
      random,
      membership,
      links: this.#links,
      memberEver: (process) => this.#rings.memberEver(process),
    });
    this.#table = new ActorTable(parts.kinds, config, time, random, {
      process: this.process,
      mayAct: () => membership.mayAct(),
      effectsClear: (address, signal) =>
        this.#departures.clear(
          (left) => handoff.awaitRelease(address, left, Number.POSITIVE_INFINITY, signal),
          signal,
        ),
      owns: (slot) => this.#rings.owns(slot),
      surelyGone: (process) => membership.surelyGone(process),
      awaitRelease: (address, process, remainingMs, signal) =>
        handoff.awaitRelease(address, process, remainingMs, signal),
      forward: (address, process, call) => {
        handoff.forward(address, process, call, (error) => call.fail(error));
      },
      activated: (kind, text, epoch) => this.#router.noteEpoch(kind, text, epoch),
      ...(trace === undefined
        ? {}
        : {
            ended: (actor, epoch) => trace.record({ event: 'hand_over', actor: addressText(actor), epoch }),
          }),
    });
    const shared = { config, time, deadlines, membership, rings: this.#rings, table: this.#table };
    this.#router = new Router({ ...shared, random, links: this.#links });
    this.#receiver = new Receiver({
      ...shared,
      kinds: this.#kinds,
      describe: () => descriptionBytes(this.describe()),
      leave: () => this.#leaveAsked(),
    });
  }

  /** Resolves when the node is in the view and can make calls. */
  async start(signal: AbortSignal): Promise<void> {
    const { membership } = this.#parts;
    this.#unsubscribe.push(
      membership.onView((view) => this.#onView(view)),
      membership.onFenced(() => this.#onFenced()),
    );
    await membership.start(signal);
    this.#onView(membership.view());
    await this.#rings.reached(membership.view().number);
  }

  /** Opens the listener; its address becomes part of this node's membership entry. */
  listen(): Promise<string> {
    return this.#links.listen();
  }

  /** A reference is one small object: keep it, or create one per call. */
  actor<Service extends ServiceShape>(
    kind: ActorKindOf<Service>,
    group: string,
    key: string,
  ): Reference<Service> {
    return this.references(kind)(group, key);
  }

  references<Service extends ServiceShape>(
    kind: ActorKindOf<Service>,
  ): (group: string, key: string) => Reference<Service> {
    return referencesTo(kind, this.#router);
  }

  /** The target of references, for code that creates references before the node exists. */
  get caller(): Caller {
    return this.#router;
  }

  owns(slot: Slot): boolean {
    return this.#rings.owns(slot);
  }

  slotOf(kind: Kind, group: string, key: string): Slot {
    return targetOf(kind, group, key).slot;
  }

  get ring(): Ring {
    return this.#rings.ring;
  }

  /** Whether new work may start here. */
  get ready(): boolean {
    return this.#parts.membership.mayAdmit() && this.#rings.ring.view.members.length > 0;
  }

  mayAct(): boolean {
    return this.#parts.membership.mayAct();
  }

  surelyGone(process: ProcessId): boolean {
    return this.#parts.membership.surelyGone(process);
  }

  onRing(listener: (ring: Ring, before: Ring) => void): () => void {
    this.#ringListeners.add(listener);
    return () => this.#ringListeners.delete(listener);
  }

  describe(): NodeDescription {
    const { membership } = this.#parts;
    return describeNode({
      membership,
      ring: this.#rings.ring,
      table: this.#table,
      links: this.#links,
      router: this.#router,
      receiver: this.#receiver,
      kinds: this.#parts.kinds,
      loopLag: this.#parts.loopLag,
      fenced: this.#fenced,
      ringChanges: this.#history.changes(),
      missedViews: this.#missedViews,
    });
  }

  /** Tells the present length of each queue of this node, for a checker of `queueBounds`. */
  readQueues(note: NoteQueue): void {
    this.#table.readQueues(note);
    this.#links.readQueues(note);
    note('calls_without_owner', this.#router.waitingForOwner);
    note('calls_before_view', this.#rings.waiting);
    note('called_addresses', this.#receiver.addresses);
    note('former_members', Math.max(this.#rings.membersKnown, this.#departures.size));
  }

  /**
   * Lets others take over idle actors, while this process finishes its running turns and can still call them. No
   * effect if no other process is in the view. Call `stop` afterwards.
   */
  async beginLeave(): Promise<void> {
    const { membership } = this.#parts;
    if (!membership.view().members.some(({ process }) => process !== this.process)) return;
    await membership.beginLeave();
    // An ending actor may send a message to its next owner, which only the new ring names.
    await this.#rings.reached(membership.view().number);
    this.#table.moveOut('drain');
  }

  /** Members of the view, then workers that left it and finish their running turns. */
  get processes(): readonly Member[] {
    const { members } = this.#rings.ring.view;
    const present = new Set(members.map(({ process }) => process));
    // The ring may be a step behind the view.
    const leavers = this.#parts.membership.leavers.members().filter(({ process }) => !present.has(process));
    return [...members, ...leavers];
  }

  /** Asks all `processes` for their descriptions; the deadline applies to each. */
  describeCluster(deadlineMs = 2_000): Promise<ClusterDescription> {
    return describeCluster(this.describe(), this.processes, this.#links, this.#parts.time, deadlineMs);
  }

  /**
   * Asks a member of the view to leave in order and end. Resolves when it has begun; rejects if it is no member or does
   * not answer.
   */
  async askToLeave(process: ProcessId, deadlineMs = 2_000): Promise<void> {
    if (process === this.process) {
      this.#leaveAsked();
      return;
    }
    const member = this.#rings.ring.view.members.find((one) => one.process === process);
    if (member === undefined) throw new ClusterError('peer_lost', `${process} is not a member`, { process });
    await askProcess(member, 'leave', this.#links, this.#parts.time, deadlineMs);
  }

  locate(kind: Kind, group: string, key: string): ActorLocation {
    const { slot, text } = targetOf(kind, group, key);
    const owner = this.#rings.ring.ownerOf(slot)?.process;
    return { slot, owner, resident: this.#table.inspect(kind.name, text) };
  }

  /** Drains and leaves. Further calls return the same promise. */
  stop(signal?: AbortSignal): Promise<DrainResult> {
    this.#stopped ??= this.#stop(signal);
    return this.#stopped;
  }

  async #stop(signal: AbortSignal | undefined): Promise<DrainResult> {
    const { config, time, membership, beforeLeave } = this.#parts;
    const result = await drain({ config, time, membership, table: this.#table, beforeLeave }, signal);
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    this.#router.stop(new ClusterError('not_serving', 'this node has stopped', { notBegun: true }));
    await this.#links.close();
    return result;
  }

  #onView(view: View): void {
    this.#departures.follow(view);
    this.#rings.follow(view);
    this.#links.follow(view);
  }

  #leaveAsked(): void {
    const { onLeaveAsked } = this.#parts;
    if (onLeaveAsked === undefined)
      throw new ClusterError('unknown_method', 'the program of this node does not end when it is asked to');
    onLeaveAsked();
  }

  #onRing(ring: Ring, before: Ring): void {
    const { time } = this.#parts;
    this.#history.note(ring, before, time.wallMs());
    this.#table.moveOut('moved');
    this.#router.wake();
    for (const listener of this.#ringListeners) listener(ring, before);
  }

  /** Ends every activation before it returns: others may own the actors from now on. */
  #onFenced(): void {
    this.#fenced += 1;
    this.#table.endAll('lease_lost');
  }

  #catchUp(name: ViewName): void {
    const { membership, config, time } = this.#parts;
    if (name.number <= membership.view().number) return;
    const abort = new AbortController();
    const timer = time.after(config.memberStoreTimeoutMs * 2, () => abort.abort());
    membership
      .catchUp(name, abort.signal)
      // The membership also polls, and then finds a view that it missed now.
      .catch(() => {
        this.#missedViews += 1;
      })
      .finally(() => timer.cancel());
  }
}
