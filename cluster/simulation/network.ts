import { ClusterError } from '../errors.js';
import type { Frame, Listener, Pipe, Transport } from '../links/pipe.js';
import type { PeerProbe, ProbeAnswer, ProbeReply, ProbeRequest } from '../membership/peer-probe.js';
import type { Member } from '../membership/membership.js';
import type { SimulatedHost } from './host.js';
import type { SeededRandom, VirtualTime } from './virtual-time.js';

interface Endpoint {
  readonly host: SimulatedHost;
  readonly accept: (pipe: Pipe) => void;
}

type ProbeHandler = (request: ProbeRequest) => ProbeReply | Promise<ProbeReply>;

/**
 * The network between simulated processes. A connection behaves like TCP: frames arrive in order or not at all. A cut
 * holds sent frames until it heals. When a process is killed its connections break at the peers; the connections of a
 * vanished machine fall silent.
 */
export class SimulatedNetwork {
  readonly #world: VirtualTime;
  readonly #random: SeededRandom;
  readonly #endpoints = new Map<string, Endpoint>();
  readonly #probes = new Map<string, { readonly host: SimulatedHost; handler: ProbeHandler | undefined }>();
  readonly #cuts = new Set<string>();
  readonly #healed = new Set<() => void>();
  readonly #vanished = new Set<string>();
  #nextPort = 1;
  #nextConnection = 1;
  latencyMs: readonly [number, number] = [0.2, 2];
  /** What all processes sent so far. */
  readonly counts = { dials: 0, batches: 0, probes: 0 };

  constructor(world: VirtualTime, random: SeededRandom) {
    this.#world = world;
    this.#random = random;
  }

  /** Without an address the listener gets the next free port. */
  transport(host: SimulatedHost, address?: string): Transport {
    return {
      dial: (peer, signal) => this.#dial(host, peer, signal),
      listen: (accept) => Promise.resolve(this.#listen(host, accept, address)),
    };
  }

  probe(host: SimulatedHost): PeerProbe {
    const entry: { readonly host: SimulatedHost; handler: ProbeHandler | undefined } = {
      host,
      handler: undefined,
    };
    this.#probes.set(host.name, entry);
    return {
      ask: (peer, request, signal) => host.receive(this.#ask(host, peer, request, signal)),
      answerWith: (handler) => {
        entry.handler = handler;
      },
    };
  }

  /** From now on nothing that `from` sends reaches `to`; it waits for the heal. */
  cut(from: string, to: string): void {
    this.#cuts.add(`${from}>${to}`);
  }

  heal(from: string, to: string): void {
    this.#cuts.delete(`${from}>${to}`);
    this.#retryAll();
  }

  healAll(): void {
    this.#cuts.clear();
    this.#retryAll();
  }

  /** Iterates over a copy: a connection that is still cut registers again while it retries. */
  #retryAll(): void {
    for (const retry of Array.from(this.#healed)) retry();
  }

  /** The machine is gone: its connections do not break, but no traffic passes. */
  vanish(name: string): void {
    this.#vanished.add(name);
  }

  isCut(from: string, to: string): boolean {
    return this.#cuts.has(`${from}>${to}`) || this.#vanished.has(from) || this.#vanished.has(to);
  }

  delayMs(): number {
    const [least, most] = this.latencyMs;
    return least + this.#random.fraction() * (most - least);
  }

  #listen(host: SimulatedHost, accept: (pipe: Pipe) => void, given: string | undefined): Listener {
    const address = given ?? `${host.name}:${this.#nextPort}`;
    if (given === undefined) this.#nextPort += 1;
    this.#endpoints.set(address, { host, accept });
    host.onDeath(() => this.#endpoints.delete(address));
    return {
      address,
      close: () => {
        this.#endpoints.delete(address);
        return Promise.resolve();
      },
    };
  }

  #dial(host: SimulatedHost, peer: Member, signal: AbortSignal): Promise<Pipe> {
    this.counts.dials += 1;
    return new Promise((resolve, reject) => {
      signal.addEventListener(
        'abort',
        () => reject(new ClusterError('peer_lost', 'the dial was cancelled', { notBegun: true })),
        { once: true },
      );
      const target = peer.address.split(':')[0] ?? '';
      // A lost packet causes no error: the dialer's own time-out ends the attempt.
      if (this.isCut(host.name, target) || this.isCut(target, host.name)) return;
      this.#world.after(this.delayMs(), () => {
        const endpoint = this.#endpoints.get(peer.address);
        if (endpoint === undefined || endpoint.host.isDead) {
          const refused = new ClusterError('peer_lost', `${peer.address} refused the connection`, {
            notBegun: true,
            refused: true,
          });
          this.#world.after(this.delayMs(), () => host.deliver(() => reject(refused)));
          return;
        }
        const [near, far] = this.#pair(host, endpoint.host);
        endpoint.host.deliver(() => endpoint.accept(far));
        this.#world.after(this.delayMs(), () => host.deliver(() => resolve(near)));
      });
    });
  }

  #pair(one: SimulatedHost, other: SimulatedHost): [Pipe, Pipe] {
    const binding = Buffer.from(`connection ${this.#nextConnection}`);
    this.#nextConnection += 1;
    const near = new SimulatedPipe(this, this.#world, one, other, binding);
    const far = new SimulatedPipe(this, this.#world, other, one, binding);
    near.peer = far;
    far.peer = near;
    return [near, far];
  }

  /** Calls `retry` on each heal; returns the unsubscribe function. */
  whenHealed(retry: () => void): () => void {
    this.#healed.add(retry);
    return () => this.#healed.delete(retry);
  }

  #ask(host: SimulatedHost, peer: Member, request: ProbeRequest, signal: AbortSignal): Promise<ProbeAnswer> {
    this.counts.probes += 1;
    return new Promise((resolve, reject) => {
      signal.addEventListener(
        'abort',
        () => reject(new ClusterError('deadline_exceeded', 'the peer did not answer the probe')),
        { once: true },
      );
      const target = peer.address.split(':')[0] ?? '';
      if (this.isCut(host.name, target)) return;
      this.#world.after(this.delayMs(), () => {
        const entry = this.#probes.get(target);
        const answer = (value: ProbeAnswer): void => {
          if (this.isCut(target, host.name)) return;
          this.#world.after(this.delayMs(), () => resolve(value));
        };
        if (entry === undefined || entry.host.isDead || !this.#endpoints.has(peer.address)) {
          answer({ outcome: 'refused' });
          return;
        }
        entry.host.deliver(() => {
          const { handler } = entry;
          if (handler === undefined) return;
          void Promise.resolve(handler(request)).then(
            (reply) => entry.host.deliver(() => answer({ outcome: 'replied', reply })),
            // A failing handler sends no answer; the asker's time-out covers it.
            () => undefined,
          );
        });
      });
    });
  }
}

class SimulatedPipe implements Pipe {
  peer: SimulatedPipe | undefined;
  readonly #network: SimulatedNetwork;
  readonly #world: VirtualTime;
  readonly #from: SimulatedHost;
  readonly #to: SimulatedHost;
  readonly #early: (readonly Frame[])[] = [];
  #onFrames: ((frames: readonly Frame[]) => void) | undefined;
  #onClose: ((error: Error | undefined) => void) | undefined;
  #closed = false;
  #closeReceived = false;
  /** Sent but not yet arrived, in order; `undefined` is the end of the connection. */
  readonly #inTransit: (readonly Frame[] | undefined)[] = [];
  #transferring = false;
  #stopWaiting: (() => void) | undefined;

  readonly #binding: Uint8Array;

  constructor(
    network: SimulatedNetwork,
    world: VirtualTime,
    from: SimulatedHost,
    to: SimulatedHost,
    binding: Uint8Array,
  ) {
    this.#network = network;
    this.#binding = binding;
    this.#world = world;
    this.#from = from;
    this.#to = to;
    from.onDeath(() => this.#send(undefined));
  }

  binding(): Uint8Array {
    return this.#binding;
  }

  trust(): void {}

  write(frames: readonly Frame[]): boolean {
    if (this.#closed || this.#from.isDead) return true;
    this.#network.counts.batches += 1;
    this.#send(frames);
    return true;
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#send(undefined);
  }

  onFrames(listener: (frames: readonly Frame[]) => void): void {
    this.#onFrames = listener;
    for (const frames of this.#early.splice(0)) listener(frames);
  }

  onDrain(): void {}

  onClose(listener: (error: Error | undefined) => void): void {
    this.#onClose = listener;
    if (this.#closeReceived) listener(undefined);
  }

  #send(batch: readonly Frame[] | undefined): void {
    this.#inTransit.push(batch);
    this.#transfer();
  }

  #transfer(): void {
    if (this.#transferring || this.#inTransit.length === 0) return;
    if (this.#network.isCut(this.#from.name, this.#to.name)) {
      this.#stopWaiting ??= this.#network.whenHealed(() => {
        this.#stopWaiting?.();
        this.#stopWaiting = undefined;
        this.#transfer();
      });
      return;
    }
    this.#transferring = true;
    this.#world.after(this.#network.delayMs(), () => {
      this.#transferring = false;
      const batches = this.#inTransit.splice(0);
      for (const batch of batches) this.#to.deliver(() => this.peer?.arrive(batch));
      this.#transfer();
    });
  }

  arrive(batch: readonly Frame[] | undefined): void {
    if (this.#closed) return;
    if (batch === undefined) {
      this.#closed = true;
      this.#closeReceived = true;
      this.#onClose?.(undefined);
    } else if (this.#onFrames === undefined) this.#early.push(batch);
    else this.#onFrames(batch);
  }
}
