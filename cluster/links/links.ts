import type { ClusterConfig } from '../config.js';
import { ClusterError, toClusterError } from '../errors.js';
import type { ProcessId } from '../ids/ids.js';
import type { Member, View } from '../membership/membership.js';
import { neighboursOf } from '../membership/neighbours.js';
import type { NoteQueue } from '../measures/queues.js';
import type { Random, Time, Timer } from '../time/time.js';
import { greet, receive, type HandshakeSettings } from './handshake.js';
import { spokenProtocols } from './protocol.js';
import { type LinkReading, type PeerHost, PeerLink } from './peer-link.js';
import type { Listener, Pipe, Transport } from './pipe.js';
import type { OutgoingCall, RemoteCall } from './remote-call.js';
import { ServerSession, type IncomingCall, type IncomingHandle } from './server-session.js';

export type { LinkReading } from './peer-link.js';

export interface LinksHost extends PeerHost {
  readonly self: ProcessId;
  receive(call: IncomingCall): IncomingHandle;
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
  #spareCheck: Timer | undefined;
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

  readQueues(note: NoteQueue): void {
    for (const peer of this.#peers.values()) {
      note('link_calls', peer.inFlight, peer.queuedBytes);
      note('incomplete_answers', 0, peer.assemblingBytes);
    }
    for (const session of this.#served) {
      note('link_answers', session.running, session.queuedBytes);
      note('incomplete_calls', 0, session.assemblingBytes);
    }
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

  /**
   * Opens links to neighbours before the first call, and closes idle links to former members. A link to another member
   * opens with the first call, and closes after a time without calls.
   */
  follow(view: View): void {
    const current = new Map(view.members.map((member) => [member.process, member]));
    const neighbours = new Set(neighboursOf(view, this.#host.self, this.#config.neighboursMax));
    for (const process of neighbours) {
      const member = current.get(process);
      if (member !== undefined) this.#peer(member).keep();
    }
    for (const [process, peer] of this.#peers) {
      if (neighbours.has(process)) continue;
      if (current.has(process)) {
        peer.spare();
        continue;
      }
      peer.release();
      if (peer.isIdle) this.#drop(process);
    }
    this.#watchSpare();
  }

  /** The process is surely gone: fails its calls at once instead of after a silence. */
  lose(process: ProcessId): void {
    this.#drop(process, new ClusterError('peer_lost', `${process} is gone`, { process }));
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#spareCheck?.cancel();
    const error = new ClusterError('not_serving', 'this node has stopped', { notBegun: true });
    for (const process of this.#peers.keys()) this.#drop(process, error);
    for (const session of this.#served) {
      session.flush();
      session.close();
    }
    await this.#listener?.close();
  }

  /** Closes links to members that are no neighbours once they were not used between two checks. */
  #watchSpare(): void {
    if (this.#closed || this.#spareCheck !== undefined) return;
    if (![...this.#peers.values()].some((peer) => !peer.isKept)) return;
    this.#spareCheck = this.#time.after(this.#config.linkUnusedMs, () => {
      this.#spareCheck = undefined;
      for (const [process, peer] of this.#peers) {
        if (!peer.isKept && peer.isIdle && !peer.wasUsed()) this.#drop(process);
      }
      this.#watchSpare();
    });
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
      this.#watchSpare();
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
