import type { ClusterConfig } from '../config.js';
import { ClusterError, toClusterError } from '../errors.js';
import type { ProcessId } from '../ids/ids.js';
import type { Member, ViewName } from '../membership/membership.js';
import { backoffMs } from '../time/backoff.js';
import type { Random, Time, Timer } from '../time/time.js';
import { CallerSession } from './caller-session.js';
import { greet, receive, type HandshakeSettings } from './handshake.js';
import { spokenProtocols } from './protocol.js';
import type { Listener, Pipe, Transport } from './pipe.js';
import type { OutgoingCall, RemoteCall } from './remote-call.js';
import { ServerSession, type IncomingCall, type IncomingHandle } from './server-session.js';

export interface LinksHost {
  readonly self: ProcessId;
  mayAct(): boolean;
  view(): ViewName;
  heardOfView(name: ViewName): void;
  receive(call: IncomingCall): IncomingHandle;
  /** The process's address has no listener, or another process listens there. */
  refused(process: ProcessId): void;
}

export interface LinkReading {
  readonly process: ProcessId;
  readonly open: boolean;
  readonly inFlight: number;
  readonly queuedBytes: number;
  /** Failed dials since the link was last open. */
  readonly failures: number;
}

export interface LinkSettings {
  /** Nodes of different clusters on one network refuse each other. */
  readonly cluster: string;
  readonly secret: string;
}

/**
 * The links of one node. Each process opens one long-lived stream to every process that it calls, and uses it only for
 * its own calls and their answers. Two processes that call each other have two streams, one per direction, and need not
 * agree on the ownership of a stream.
 */
export class Links {
  readonly #transport: Transport;
  readonly #settings: LinkSettings;
  readonly #config: ClusterConfig;
  readonly #time: Time;
  readonly #random: Random;
  readonly #host: LinksHost;
  readonly #peers = new Map<ProcessId, PeerLink>();
  readonly #served = new Set<ServerSession>();
  #listener: Listener | undefined;
  #closed = false;
  /** Calls refused because too many bytes were queued for their peer. */
  shed = 0;

  constructor(
    transport: Transport,
    settings: LinkSettings,
    config: ClusterConfig,
    time: Time,
    random: Random,
    host: LinksHost,
  ) {
    this.#transport = transport;
    this.#settings = settings;
    this.#config = config;
    this.#time = time;
    this.#random = random;
    this.#host = host;
  }

  get open(): number {
    let count = 0;
    for (const peer of this.#peers.values()) if (peer.isOpen) count += 1;
    return count;
  }

  get inFlight(): number {
    let count = 0;
    for (const peer of this.#peers.values()) count += peer.inFlight;
    return count;
  }

  /** Readings of the links that this process opened. */
  get readings(): readonly LinkReading[] {
    return [...this.#peers.values()].map((peer) => peer.reading);
  }

  /** Number of links that peers opened. */
  get served(): number {
    return this.#served.size;
  }

  async listen(): Promise<string> {
    this.#listener = await this.#transport.listen((pipe) => {
      void this.#serve(pipe);
    });
    return this.#listener.address;
  }

  call(member: Member, call: OutgoingCall): RemoteCall {
    return this.#peer(member).call(call);
  }

  /** Opens links to members before the first call, and closes idle links to former members. */
  follow(members: readonly Member[]): void {
    const current = new Set(members.map((member) => member.process));
    for (const member of members) if (member.process !== this.#host.self) this.#peer(member).keep();
    for (const [process, peer] of this.#peers) {
      if (current.has(process)) continue;
      peer.release();
      if (peer.isIdle) this.#drop(process);
    }
  }

  /** The process is surely gone: fails its calls at once instead of after a silence. */
  lose(process: ProcessId): void {
    this.#drop(process, new ClusterError('peer_lost', `${process} is gone`, { process }));
  }

  async close(): Promise<void> {
    this.#closed = true;
    const error = new ClusterError('not_serving', 'this node has stopped', { notBegun: true });
    for (const process of this.#peers.keys()) this.#drop(process, error);
    for (const session of this.#served) {
      session.flush();
      session.close();
    }
    await this.#listener?.close();
  }

  #handshake(): HandshakeSettings {
    return {
      ...this.#settings,
      self: this.#host.self,
      purpose: 'calls',
      timeoutMs: this.#config.connectTimeoutMs,
      protocols: spokenProtocols,
    };
  }

  #drop(process: ProcessId, error?: ClusterError): void {
    this.#peers.get(process)?.close(error ?? new ClusterError('peer_lost', `${process} has left`));
    this.#peers.delete(process);
  }

  #peer(member: Member): PeerLink {
    let peer = this.#peers.get(member.process);
    if (peer === undefined) {
      peer = new PeerLink(
        member,
        this.#config,
        this.#time,
        this.#random,
        this.#host,
        (signal) => this.#dial(member, signal),
        () => {
          this.shed += 1;
        },
      );
      this.#peers.set(member.process, peer);
    }
    return peer;
  }

  async #dial(member: Member, signal: AbortSignal) {
    const pipe = await this.#transport.dial(member, signal);
    try {
      return await greet(pipe, member.process, this.#handshake(), this.#time, this.#random);
    } catch (error) {
      pipe.close();
      throw error;
    }
  }

  async #serve(pipe: Pipe): Promise<void> {
    try {
      const greeted = await receive(pipe, this.#handshake(), this.#time, this.#random);
      if (this.#closed) {
        pipe.close();
        return;
      }
      const session: ServerSession = new ServerSession(greeted, this.#time, this.#config, {
        mayAct: () => this.#host.mayAct(),
        view: () => this.#host.view(),
        heardOfView: (name) => this.#host.heardOfView(name),
        receive: (call) => this.#host.receive(call),
        onClosed: () => this.#served.delete(session),
      });
      this.#served.add(session);
      this.#keepFew(session.peer);
    } catch (error) {
      // The dialer received the reason or is gone; its own log shows the error.
      pipe.close(toClusterError(error));
    }
  }

  /** Closes the oldest link of a peer with too many: a peer that dials again has lost its earlier link. */
  #keepFew(peer: string): void {
    const links = [...this.#served].filter((session) => session.peer === peer);
    if (links.length > this.#config.linksPerPeer) links[0]?.close();
  }
}

/** The link to one peer: dialed when needed, kept while the peer is a member, and redialed when lost. */
class PeerLink {
  readonly #member: Member;
  readonly #config: ClusterConfig;
  readonly #time: Time;
  readonly #random: Random;
  readonly #host: LinksHost;
  readonly #dial: (signal: AbortSignal) => ReturnType<typeof greet>;
  readonly #onShed: () => void;
  #session: CallerSession | undefined;
  #waiting: WaitingCall[] = [];
  #dialing: AbortController | undefined;
  #kept = false;
  #closed = false;
  #failures = 0;
  #redial: Timer | undefined;

  constructor(
    member: Member,
    config: ClusterConfig,
    time: Time,
    random: Random,
    host: LinksHost,
    dial: (signal: AbortSignal) => ReturnType<typeof greet>,
    onShed: () => void,
  ) {
    this.#member = member;
    this.#config = config;
    this.#time = time;
    this.#random = random;
    this.#host = host;
    this.#dial = dial;
    this.#onShed = onShed;
  }

  get isOpen(): boolean {
    return this.#session !== undefined;
  }

  get reading(): LinkReading {
    return {
      process: this.#member.process,
      open: this.isOpen,
      inFlight: this.inFlight,
      queuedBytes: this.#session?.queuedBytes ?? 0,
      failures: this.#failures,
    };
  }

  get isIdle(): boolean {
    return this.inFlight === 0;
  }

  get inFlight(): number {
    return this.#waiting.length + (this.#session?.inFlight ?? 0);
  }

  keep(): void {
    this.#kept = true;
    if (this.#session === undefined && this.#redial === undefined) this.#connect();
  }

  /** The peer has left the view: unsent calls fail, because other members own the actors now. */
  release(): void {
    if (!this.#kept) return;
    this.#kept = false;
    this.#failWaiting(new ClusterError('peer_lost', `${this.#member.process} has left the view`, away));
  }

  call(call: OutgoingCall): RemoteCall {
    if (this.#session !== undefined) return this.#session.call(call);
    const waiting = new WaitingCall(call);
    this.#waiting.push(waiting);
    // During the pause after failed dials a call fails at once.
    if (this.#redial !== undefined)
      this.#failWaiting(new ClusterError('peer_lost', 'the peer is unreachable', away));
    else this.#connect();
    return waiting;
  }

  close(error: ClusterError): void {
    this.#closed = true;
    this.#redial?.cancel();
    this.#dialing?.abort(error);
    this.#session?.close(error);
    this.#failWaiting(error);
  }

  #connect(): void {
    if (this.#dialing !== undefined || this.#closed) return;
    const dialing = new AbortController();
    this.#dialing = dialing;
    const timer = this.#time.after(this.#config.connectTimeoutMs, () => {
      dialing.abort(new ClusterError('peer_lost', `${this.#member.process} did not answer in time`, away));
    });
    this.#dial(dialing.signal)
      .then(
        (greeted) => {
          this.#dialing = undefined;
          this.#opened(greeted);
        },
        (error: unknown) => {
          this.#dialing = undefined;
          this.#dialFailed(toClusterError(error, 'peer_lost'));
        },
      )
      .finally(() => timer.cancel());
  }

  #opened(greeted: Awaited<ReturnType<typeof greet>>): void {
    if (this.#closed) {
      greeted.pipe.close();
      return;
    }
    this.#failures = 0;
    this.#session = new CallerSession(this.#member.process, greeted, this.#time, this.#config, {
      mayAct: () => this.#host.mayAct(),
      view: () => this.#host.view(),
      heardOfView: (name) => this.#host.heardOfView(name),
      onClosed: () => {
        this.#session = undefined;
        if (this.#kept && !this.#closed) this.#pause();
      },
      onShed: this.#onShed,
    });
    for (const waiting of this.#waiting.splice(0)) waiting.sendOver(this.#session);
  }

  #dialFailed(error: ClusterError): void {
    if (this.#closed) return;
    this.#failures += 1;
    if (error.refused || error.tag === 'wrong_process') this.#host.refused(this.#member.process);
    this.#pause();
    this.#failWaiting(
      new ClusterError(error.tag, error.message, { ...away, cause: error, process: this.#member.process }),
    );
  }

  #pause(): void {
    const backoff = { baseMs: this.#config.reconnectBaseMs, maxMs: this.#config.reconnectMaxMs };
    this.#redial?.cancel();
    this.#redial = this.#time.after(backoffMs(this.#failures, backoff, this.#random), () => {
      this.#redial = undefined;
      if (this.#kept) this.#connect();
    });
  }

  #failWaiting(error: ClusterError): void {
    for (const waiting of this.#waiting.splice(0)) waiting.fail(error);
  }
}

const away = { notBegun: true } as const;

/** A call that waits for the link to open. */
class WaitingCall implements RemoteCall {
  readonly #call: OutgoingCall;
  #sent: RemoteCall | undefined;
  #cancelled = false;

  constructor(call: OutgoingCall) {
    this.#call = call;
  }

  sendOver(session: CallerSession): void {
    if (!this.#cancelled) this.#sent = session.call(this.#call);
  }

  fail(error: ClusterError): void {
    if (!this.#cancelled) this.#call.answer.fail(error);
  }

  cancel(): void {
    this.#cancelled = true;
    this.#sent?.cancel();
  }

  grant(credit: number): void {
    this.#sent?.grant(credit);
  }
}
