import { ClusterError } from '../errors.js';
import type { Committed, GroupCommit, WriteHolder } from '../fencing/group-commit.js';
import type { ActivateRequest, BusyStamp } from '../fencing/fence.js';
import {
  actorKind,
  type ActorAddress,
  type ActorKind,
  type Epoch,
  type ProcessId,
  type Slot,
} from '../ids/ids.js';
import type { Call } from './call.js';
import { methodsOf, type Method, type ServiceShape } from './method.js';
import { type Handlers, type RulesOf } from './service.js';

/** Called once when an actor leaves memory. It must not write: the fence may be lost. */
export const deactivated: unique symbol = Symbol('deactivated');

/**
 * Called once when an actor that still runs handlers is to move. Whatever does not depend on the running handlers
 * (readers of work that has not started) may end now; the rest finishes here.
 */
export const leaving: unique symbol = Symbol('leaving');

export type EndReason = 'idle' | 'cap' | 'moved' | 'drain' | 'fenced' | 'lease_lost' | 'failed';

export interface Lifecycle {
  [deactivated]?(reason: EndReason): void;
  [leaving]?(): void;
}

/** What an actor may ask of its own activation. */
export interface Activation {
  readonly address: ActorAddress;
  readonly slot: Slot;
  readonly process: ProcessId;
  /** 0 for actors without durable state. */
  readonly epoch: Epoch;
  /** Ends the activation; the next call loads the actor again. */
  end(reason: EndReason): void;
  /** Check it right before each outside effect. False once the lease may have run out or the activation has ended. */
  mayAct(): boolean;
  /** Resolves when no earlier owner that has left the view can still run the actor (protocol 2.4). */
  effectsClear(signal: AbortSignal): Promise<void>;
  /** Tells how many bytes the actor's state takes now. The node bounds the sum over all actors (`residentBytesMax`). */
  holds(bytes: number): void;
}

export interface DurableActivation<Loaded, Write, Result> extends Activation {
  readonly loaded: Loaded;
  /**
   * Writes under the fence, in the order of the calls; resolves after the commit. Rejects with `fenced` or
   * `outcome_unknown`, which end the activation, or with `write_rejected`, which does not and carries the store's own
   * error as cause. If the store lost the result, a caller that needs it ends the activation: only a fresh load shows
   * what the store holds.
   */
  write(write: Write, options?: { readonly stamp?: BusyStamp }): Promise<Committed<Result>>;
  /** No further write is sent. Those that wait are rejected with the error, and so is each later one. */
  closeWrites(error: ClusterError): void;
  /** Changes only the busy stamp. */
  stamp(stamp: BusyStamp): Promise<void>;
}

/** An actor in memory, without its static types. */
export interface Instance extends Lifecycle {
  readonly [method: string]: (input: unknown, call: Call) => unknown;
}

export type Loading =
  | { readonly outcome: 'ready'; readonly instance: Instance; readonly holder: WriteHolder | undefined }
  | { readonly outcome: 'busy'; readonly process: ProcessId; readonly remainingMs: number }
  | { readonly outcome: 'unwanted' };

/** Cleans up what was loaded for an actor that was given up meanwhile. */
export function discard({
  instance,
  holder,
}: {
  readonly instance: Instance;
  readonly holder: WriteHolder | undefined;
}): void {
  holder?.close(new ClusterError('activation_failed', 'the activation was abandoned while it was loading'));
  instance[deactivated]?.('moved');
}

export interface LoadRequest extends Omit<ActivateRequest<unknown>, 'load'> {
  /** False once the activation was given up: a late answer of the store must not create an actor. */
  readonly isWanted: () => boolean;
}

/** An actor kind as the runtime handles it. */
export interface Kind {
  readonly name: ActorKind;
  readonly service: ServiceShape;
  readonly methods: ReadonlyMap<string, Method>;
  readonly durable: boolean;
  readonly idleMs: number | undefined;
  /** Synchronous if there is nothing to load; the request is then undefined. */
  load(host: Activation, request: LoadRequest | undefined): Loading | Promise<Loading>;
}

interface CommonDefinition<Service extends ServiceShape> {
  readonly service: Service;
  /** Defaults to the service's full name; needed if several kinds implement one service. */
  readonly name?: string;
  readonly methods?: RulesOf<Service>;
  /** How long an idle actor stays in memory; defaults to the setting `idleMs`. */
  readonly idleMs?: number;
}

export interface VolatileDefinition<Service extends ServiceShape> extends CommonDefinition<Service> {
  create(activation: Activation): Handlers<Service> & Lifecycle;
}

export interface DurableDefinition<
  Service extends ServiceShape,
  Load,
  Loaded,
  Write,
  Result,
> extends CommonDefinition<Service> {
  readonly commits: GroupCommit<Load, Loaded, Write, Result>;
  /** What to read at activation, in the store's own form. */
  load(address: ActorAddress): Load;
  create(activation: DurableActivation<Loaded, Write, Result>): Handlers<Service> & Lifecycle;
}

/** A kind that keeps its static type, so that references to it are typed. */
export interface ActorKindOf<Service extends ServiceShape> extends Kind {
  readonly service: Service;
}

/** An actor whose state may be lost with its process. Shortly after a failure two activations may exist. */
export function volatileActor<Service extends ServiceShape>(
  definition: VolatileDefinition<Service>,
): ActorKindOf<Service> {
  const common = commonOf(definition);
  return {
    ...common,
    durable: false,
    load(host) {
      const instance = checkedInstance(definition.create(host), common.methods, common.name);
      return { outcome: 'ready', instance, holder: undefined };
    },
  };
}

/** An actor over a row in the durable store: of two activations at most one can commit. */
export function durableActor<Service extends ServiceShape, Load, Loaded, Write, Result>(
  definition: DurableDefinition<Service, Load, Loaded, Write, Result>,
): ActorKindOf<Service> {
  const common = commonOf(definition);
  return {
    ...common,
    durable: true,
    async load(host, request) {
      if (request === undefined) throw new TypeError(`${common.name} was loaded without a request`);
      const { isWanted, ...asked } = request;
      const activated = await definition.commits.activate({ ...asked, load: definition.load(host.address) });
      if (activated.outcome === 'busy') return activated;
      if (!isWanted()) return { outcome: 'unwanted' };
      const holder = definition.commits.holder(activated.fence);
      const activation = new FencedActivation(host, activated.fence.epoch, activated.loaded, holder);
      const instance = checkedInstance(definition.create(activation), common.methods, common.name);
      return { outcome: 'ready', instance, holder };
    },
  };
}

interface Writer<Write, Result> extends Pick<WriteHolder, 'close'> {
  write(write: Write | undefined, stamp: BusyStamp | undefined): Promise<Committed<Result>>;
}

/** A class, so that all actors in memory share its methods. */
class FencedActivation<Loaded, Write, Result> implements DurableActivation<Loaded, Write, Result> {
  readonly epoch: Epoch;
  readonly loaded: Loaded;
  readonly #host: Activation;
  readonly #writer: Writer<Write, Result>;

  constructor(host: Activation, epoch: Epoch, loaded: Loaded, writer: Writer<Write, Result>) {
    this.#host = host;
    this.epoch = epoch;
    this.loaded = loaded;
    this.#writer = writer;
  }

  get address(): ActorAddress {
    return this.#host.address;
  }

  get slot(): Slot {
    return this.#host.slot;
  }

  get process(): ProcessId {
    return this.#host.process;
  }

  end(reason: EndReason): void {
    this.#host.end(reason);
  }

  mayAct(): boolean {
    return this.#host.mayAct();
  }

  effectsClear(signal: AbortSignal): Promise<void> {
    return this.#host.effectsClear(signal);
  }

  holds(bytes: number): void {
    this.#host.holds(bytes);
  }

  write(write: Write, options?: { readonly stamp?: BusyStamp }): Promise<Committed<Result>> {
    return this.#writer.write(write, options?.stamp);
  }

  closeWrites(error: ClusterError): void {
    this.#writer.close(error);
  }

  async stamp(stamp: BusyStamp): Promise<void> {
    await this.#writer.write(undefined, stamp);
  }
}

function commonOf<Service extends ServiceShape>(definition: CommonDefinition<Service>) {
  return {
    name: actorKind(definition.name ?? definition.service.fullName),
    service: definition.service,
    methods: methodsOf(definition.service, definition.methods ?? {}),
    idleMs: definition.idleMs,
  };
}

/** The only place that drops an actor's static types: checks that each method exists and can be called. */
function checkedInstance(candidate: object, methods: ReadonlyMap<string, Method>, kind: ActorKind): Instance {
  if (!isInstance(candidate, methods))
    throw new TypeError(`${kind}: create() returned no handler for a method of the service`);
  return candidate;
}

function isInstance(candidate: object, methods: ReadonlyMap<string, Method>): candidate is Instance {
  for (const name of methods.keys()) {
    if (typeof Reflect.get(candidate, name) !== 'function') return false;
  }
  return true;
}
