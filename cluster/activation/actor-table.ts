import type { ClusterConfig } from '../config.js';
import { ClusterError } from '../errors.js';
import { activationId, epoch, type ActorKind, type Epoch, type ProcessId, type Slot } from '../ids/ids.js';
import { LoopClock } from '../time/loop-clock.js';
import type { Random, Time, Timer } from '../time/time.js';
import { AnswerMemory } from './answer-memory.js';
import type { Call } from './call.js';
import { Cell } from './cell.js';
import { readCellQueues } from './cell-queues.js';
import { addressOf, CellActivation, type ActivationContext } from './cell-activation.js';
import { deactivated, discard, leaving, type Activation, type EndReason, type Kind } from './kind.js';
import { endError, loadError, withNotBegun } from './end-error.js';
import { LoadLimiter } from './load-limiter.js';
import { MessageLoop } from './message-loop.js';
import { ResidentBytes } from './resident-bytes.js';
import { Residents, type ActorEpoch } from './residents.js';
import type { NoteQueue } from '../measures/queues.js';
import type { TableHost } from './table-host.js';
import type { ResidentActor, TableCounts, TurnLatencies } from './table-readings.js';

interface KindCells {
  readonly kind: Kind;
  readonly cells: Map<string, Cell>;
  readonly residents: Residents;
  readonly idleTicks: number;
}

/** Resolution of the least-recently-used order and of the idle time. Small integers keep cells small. */
const tickMs = 100;
/** How many of the least recently used actors are checked for an idle one to evict before a new actor is refused. */
const evictionDepth = 64;

/** Every actor in the memory of this node, and the messages that wait for them. */
export class ActorTable {
  readonly #kinds: ReadonlyMap<ActorKind, KindCells>;
  readonly #config: ClusterConfig;
  readonly #time: Time;
  readonly #random: Random;
  readonly #host: TableHost;
  readonly #loads: LoadLimiter;
  readonly #loop: MessageLoop;
  readonly #clock: LoopClock;
  #lastCells: KindCells | undefined;
  readonly #counts = {
    activations: 0,
    activationFailures: 0,
    fenceRejections: 0,
    repeats: 0,
    ended: {} as Partial<Record<EndReason, number>>,
  };
  /** Shared by all activations, so that each stays small. */
  readonly #context: ActivationContext;
  readonly #bytes: ResidentBytes;
  #residents = 0;
  #sweep: Timer | undefined;

  constructor(kinds: readonly Kind[], config: ClusterConfig, time: Time, random: Random, host: TableHost) {
    this.#kinds = new Map(
      kinds.map((kind) => [
        kind.name,
        {
          kind,
          cells: new Map<string, Cell>(),
          residents: new Residents(),
          idleTicks: Math.ceil((kind.idleMs ?? config.idleMs) / tickMs),
        },
      ]),
    );
    this.#config = config;
    this.#time = time;
    this.#random = random;
    this.#host = host;
    this.#loads = new LoadLimiter(config.activationsMax, config.activationQueueMax, config.overloadRetryMs);
    this.#context = {
      process: host.process,
      mayAct: () => host.mayAct(),
      effectsClear: (address, signal) => host.effectsClear(address, signal),
      end: (cell, reason) => this.#end(cell, reason),
      holds: (cell, bytes) => this.#bytes.set(cell, bytes),
    };
    this.#bytes = new ResidentBytes(config.residentBytesMax, () => this.#evict(holdsIdly));
    this.#clock = new LoopClock(time);
    this.#loop = new MessageLoop(config, time, this.#clock, {
      forward: (cell, process, call) => host.forward(addressOf(cell), process, call),
      finished: (cell) => this.#end(cell, 'moved'),
    });
  }

  get counts(): TableCounts {
    return { ...this.#counts, shed: this.#loop.shed + this.#loads.refused };
  }

  get latencies(): TurnLatencies {
    const { waited, ran, firstMessage } = this.#loop;
    return { waited: waited.read(), ran: ran.read(), firstMessage: firstMessage.read() };
  }

  /** How long the oldest waiting call has waited for its actor; 0 if no call waits. */
  get oldestWaitingMs(): number {
    const nowMs = this.#time.monotonicMs();
    return Math.max(0, nowMs - (this.#loop.oldestWaitingMs ?? nowMs));
  }

  get residents(): number {
    return this.#residents;
  }

  get waiting(): number {
    return this.#loop.waiting;
  }

  get loading(): number {
    return this.#loads.running + this.#loads.waiting;
  }

  residentsOf(kind: ActorKind): number {
    return this.#kinds.get(kind)?.cells.size ?? 0;
  }

  /** Delivers a call that reached the owner. `payload` tells two calls with one request id apart. */
  deliver(kindName: ActorKind, text: string, slot: Slot, call: Call, payload: number): void {
    const cells = this.#cellsOf(kindName);
    const cell = cells.cells.get(text) ?? this.#activate(cells, text, slot, call);
    if (cell === undefined) return;
    const tick = this.#tick();
    if (cell.usedAt !== tick) cells.residents.touch(cell, tick);
    if (call.chain.length > 0 && call.lane === 'turn' && call.chain.includes(`${kindName}\0${text}`)) {
      call.fail(new ClusterError('call_cycle', `${kindName}: the calling turn would wait for itself`));
      return;
    }
    if (call.repeatable && !call.method.streams && this.#repeats(cell, call, payload)) return;
    this.#loop.admit(cell, call);
  }

  /** Delivers a call that only a loaded activation may answer; false if there is none. */
  deliverResident(kindName: ActorKind, text: string, call: Call): boolean {
    const cell = this.#kinds.get(kindName)?.cells.get(text);
    if (cell === undefined || cell.state === 'loading') return false;
    this.#loop.admit(cell, call);
    return true;
  }

  /**
   * Calls `action` when this node runs no activation of the actor. Ends an idle one and waits for a busy one. Returns
   * the function that ends the wait.
   */
  whenReleased(kindName: ActorKind, text: string, action: () => void): () => void {
    const cell = this.#kinds.get(kindName)?.cells.get(text);
    if (cell === undefined || cell.state === 'loading') {
      action();
      return () => undefined;
    }
    this.#moveOut(cell, 'moved');
    return cell.whenGone(action);
  }

  /** After a change of view: ends idle actors of lost slots at once; busy ones finish here first. */
  moveOut(reason: 'moved' | 'drain'): void {
    for (const { cells } of this.#kinds.values()) {
      for (const cell of cells.values()) {
        if (reason === 'drain' || !this.#host.owns(cell.slot)) this.#moveOut(cell, reason);
      }
    }
  }

  /** Ends every actor at once, whatever it does. Called when the lease is lost. */
  endAll(reason: EndReason): void {
    for (const { cells } of this.#kinds.values()) {
      for (const cell of cells.values()) this.#end(cell, reason);
    }
    this.#sweep?.cancel();
    this.#sweep = undefined;
  }

  /** How many actors still run a handler. */
  get busy(): number {
    return this.#loop.busy;
  }

  /** The state of an actor in this node's memory; undefined if it is not loaded. */
  inspect(kindName: ActorKind, text: string): ResidentActor | undefined {
    const cell = this.#kinds.get(kindName)?.cells.get(text);
    if (cell === undefined) return undefined;
    const { state, busy, waiting } = cell;
    return { state, busy, waiting, epoch: cell.holder?.fence.epoch ?? noEpoch };
  }

  /** The queues of each actor, and those that all share. */
  readQueues(note: NoteQueue): void {
    note('actors', this.#residents);
    note('loads', this.loading);
    note('node_mailboxes', this.#loop.waiting, this.#loop.waitingBytes);
    for (const { cells } of this.#kinds.values()) readCellQueues(cells.values(), note);
  }

  epochOf(kindName: ActorKind, text: string): Epoch {
    return this.#kinds.get(kindName)?.cells.get(text)?.holder?.fence.epoch ?? noEpoch;
  }

  /** Epochs of the durable actors of one kind, the most recently used first. */
  epochsOf(kindName: ActorKind, countMax: number): readonly ActorEpoch[] {
    return this.#kinds.get(kindName)?.residents.epochs(countMax) ?? [];
  }

  #cellsOf(kindName: ActorKind): KindCells {
    // Consecutive calls mostly go to the same kind.
    if (this.#lastCells?.kind.name === kindName) return this.#lastCells;
    const cells = this.#kinds.get(kindName);
    this.#lastCells = cells;
    if (cells === undefined)
      throw new ClusterError('unknown_kind', `this node has no actor kind ${kindName}`);
    return cells;
  }

  #tick(): number {
    return Math.floor(this.#clock.nowMs() / tickMs);
  }

  #activate(cells: KindCells, text: string, slot: Slot, call: Call): Cell | undefined {
    if (this.#residents >= this.#config.residentsMax && !this.#evict(isIdle)) {
      this.#loop.refuse(call, 'the actor limit (residentsMax) is reached and no actor is idle');
      return undefined;
    }
    const cell = new Cell(cells.kind, text, slot);
    cells.cells.set(text, cell);
    this.#residents += 1;
    this.#counts.activations += 1;
    this.#sweep ??= this.#time.after(tickMs * 10, () => this.#sweepIdle());
    this.#load(cell);
    return cell;
  }

  #load(cell: Cell): void {
    if (cell.kind.durable) {
      void this.#loadDurable(cell).catch((error: unknown) => this.#loadFailed(cell, error));
      return;
    }
    try {
      const loading = cell.kind.load(this.#activation(cell), undefined);
      if (!(loading instanceof Promise) && loading.outcome === 'ready') this.#becomeReady(cell, loading);
    } catch (error) {
      // Wait a microtask, so that the first call is in the mailbox and receives this failure.
      queueMicrotask(() => this.#loadFailed(cell, error));
    }
  }

  /**
   * Protocol 4.1: the epoch is not raised while a turn of the actor may run on another process. The wait for its end takes
   * no place among the loads: turns that end elsewhere may themselves wait for actors that load here.
   */
  async #loadDurable(cell: Cell): Promise<void> {
    const released = new Set<ProcessId>();
    let isRepeat = false;
    const host = this.#activation(cell);
    while (cell.state === 'loading') {
      const loading = await this.#loads.run(cell.group, isRepeat, async () => {
        if (cell.state !== 'loading') return undefined;
        const request = this.#request(cell);
        return cell.kind.load(host, {
          ...request,
          ignoreStampsOf: (process) => released.has(process) || request.ignoreStampsOf(process),
        });
      });
      if (loading === undefined) return;
      if (cell.state !== 'loading' || loading.outcome === 'unwanted') {
        if (loading.outcome === 'ready') discard(loading);
        return;
      }
      if (loading.outcome === 'ready') {
        this.#becomeReady(cell, loading);
        return;
      }
      cell.extra.busyAt = loading.process;
      this.#loop.forwardControls(cell);
      const mayIgnore = await this.#host.awaitRelease(
        host.address,
        loading.process,
        loading.remainingMs,
        cell.loadingSignal,
      );
      if (mayIgnore) released.add(loading.process);
      isRepeat = true;
      cell.extra.busyAt = undefined;
    }
  }

  #request(cell: Cell) {
    return {
      address: addressOf(cell),
      slot: cell.slot,
      activationId: activationId(this.#random.id()),
      isWanted: () => cell.state === 'loading',
      // This process runs no other activation of the actor: the table holds only this cell.
      ignoreStampsOf: (process: ProcessId) =>
        process === this.#host.process || this.#host.surelyGone(process),
    };
  }

  #activation(cell: Cell): Activation {
    return new CellActivation(cell, this.#context);
  }

  #becomeReady(cell: Cell, loaded: { instance: Cell['instance']; holder: Cell['holder'] }): void {
    cell.instance = loaded.instance;
    cell.holder = loaded.holder;
    cell.become('ready');
    if (loaded.holder !== undefined) {
      this.#host.activated(cell.kind.name, cell.text, loaded.holder.fence.epoch);
    }
    loaded.holder?.onLost(() => {
      this.#counts.fenceRejections += 1;
      this.#end(cell, 'fenced');
    });
    this.#loop.loaded(cell);
  }

  #loadFailed(cell: Cell, error: unknown): void {
    if (cell.state === 'gone') return;
    this.#counts.activationFailures += 1;
    this.#end(cell, 'failed', loadError(cell, error));
  }

  #repeats(cell: Cell, call: Call, payload: number): boolean {
    const now = this.#time.monotonicMs();
    cell.answers ??= new AnswerMemory();
    cell.answers.forgetOlderThan(now - this.#config.answerMemoryMs);
    const { repeatsMax, overloadRetryMs } = this.#config;
    if (cell.answers.repeats(call, payload, repeatsMax, overloadRetryMs)) {
      this.#counts.repeats += 1;
      return true;
    }
    cell.answers.remember(call, payload, now, this.#config.answerMemoryMax);
    return false;
  }

  #moveOut(cell: Cell, reason: 'moved' | 'drain'): void {
    if (cell.state === 'gone' || cell.state === 'ending') return;
    if (cell.state === 'loading' || !cell.busy) {
      this.#end(cell, reason);
      return;
    }
    cell.become('ending');
    this.#loop.failWaiting(
      cell,
      new ClusterError('moved', `${cell.kind.name} is moving`, { notBegun: true }),
    );
    cell.instance?.[leaving]?.();
  }

  #end(cell: Cell, reason: EndReason, failure: ClusterError = endError(cell, reason)): void {
    if (cell.state === 'gone') return;
    this.#loop.removed(cell);
    cell.become('gone');
    const cells = this.#cellsOf(cell.kind.name);
    cells.cells.delete(cell.text);
    cells.residents.remove(cell);
    this.#bytes.remove(cell);
    this.#residents -= 1;
    this.#counts.ended[reason] = (this.#counts.ended[reason] ?? 0) + 1;
    cell.abortLoading();
    cell.holder?.close(failure);
    if (cell.holder !== undefined) this.#host.ended?.(addressOf(cell), cell.holder.fence.epoch);
    this.#loop.failWaiting(cell, withNotBegun(failure));
    for (const call of cell.runningCalls()) call.fail(failure);
    const instance = cell.instance;
    cell.instance = undefined;
    for (const listener of cell.takeGoneListeners()) listener();
    instance?.[deactivated]?.(reason);
  }

  #evict(suits: (cell: Cell) => boolean): boolean {
    for (const { residents } of this.#kinds.values()) {
      const cell = residents.findOldest(suits, evictionDepth);
      if (cell === undefined) continue;
      this.#end(cell, 'cap');
      return true;
    }
    return false;
  }

  #sweepIdle(): void {
    const tick = this.#tick();
    for (const { residents, idleTicks } of this.#kinds.values()) {
      let cell = residents.oldest;
      while (cell !== undefined && tick - cell.usedAt >= idleTicks) {
        const following: Cell | undefined = cell.newer;
        if (cell.isIdle) this.#end(cell, 'idle');
        else residents.touch(cell, tick);
        cell = following;
      }
    }
    this.#sweep = this.#residents > 0 ? this.#time.after(tickMs * 10, () => this.#sweepIdle()) : undefined;
  }
}

const noEpoch = epoch(0);

const isIdle = (cell: Cell): boolean => cell.isIdle;
const holdsIdly = (cell: Cell): boolean => cell.isIdle && cell.bytes > 0;
