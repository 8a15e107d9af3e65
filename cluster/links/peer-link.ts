import type { ClusterConfig } from '../config.js';
import { ClusterError, toClusterError } from '../errors.js';
import type { Member, ViewName } from '../membership/membership.js';
import type { ProcessId } from '../ids/ids.js';
import { backoffMs } from '../time/backoff.js';
import type { Random, Time, Timer } from '../time/time.js';
import { CallerSession, noCall, overload } from './caller-session.js';
import type { greet } from './handshake.js';
import type { OutgoingCall, RemoteCall } from './remote-call.js';

/** What a link needs of its node. */
export interface PeerHost {
  mayAct(): boolean;
  view(): ViewName;
  heardOfView(name: ViewName): void;
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

/** The link to one peer: dialed when needed, kept while the peer is a member, and redialed when lost. */
export class PeerLink {
  readonly #member: Member;
  readonly #config: ClusterConfig;
  readonly #time: Time;
  readonly #random: Random;
  readonly #host: PeerHost;
  readonly #dial: (signal: AbortSignal) => ReturnType<typeof greet>;
  readonly #onShed: () => void;
  #session: CallerSession | undefined;
  readonly #waiting = new Set<WaitingCall>();
  #waitingBytes = 0;
  #dialing: AbortController | undefined;
  #kept = false;
  #isMember = false;
  #used = false;
  #closed = false;
  #failures = 0;
  #redial: Timer | undefined;

  constructor(
    member: Member,
    config: ClusterConfig,
    time: Time,
    random: Random,
    host: PeerHost,
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
      queuedBytes: this.queuedBytes,
      failures: this.#failures,
    };
  }

  get isIdle(): boolean {
    return this.inFlight === 0;
  }

  get inFlight(): number {
    return this.#waiting.size + (this.#session?.inFlight ?? 0);
  }

  get queuedBytes(): number {
    return this.#waitingBytes + (this.#session?.queuedBytes ?? 0);
  }

  /** Bytes of answers of which a part has arrived. */
  get assemblingBytes(): number {
    return this.#session?.assemblingBytes ?? 0;
  }

  get isKept(): boolean {
    return this.#kept;
  }

  /** Whether there was a call since the last question. */
  wasUsed(): boolean {
    const used = this.#used;
    this.#used = false;
    return used;
  }

  keep(): void {
    this.#isMember = true;
    this.#kept = true;
    if (this.#session === undefined && this.#redial === undefined) this.#connect();
  }

  /** The peer is a member but no neighbour any more: its link is not opened again without a call. */
  spare(): void {
    this.#isMember = true;
    this.#kept = false;
  }

  /** The peer has left the view: unsent calls fail, because other members own the actors now. */
  release(): void {
    if (!this.#isMember) return;
    this.#isMember = false;
    this.#kept = false;
    this.#failWaiting(new ClusterError('peer_lost', `${this.#member.process} has left the view`, away));
  }

  call(call: OutgoingCall): RemoteCall {
    this.#used = true;
    if (this.#session !== undefined) return this.#session.call(call);
    // During the pause after failed dials a call fails at once.
    if (this.#redial !== undefined) {
      call.answer.fail(new ClusterError('peer_lost', 'the peer is unreachable', away));
      return noCall;
    }
    const refusal = overload(this.#config, this.#member.process, this.inFlight, this.queuedBytes, call);
    if (refusal !== undefined) {
      this.#onShed();
      call.answer.fail(refusal);
      return noCall;
    }
    const waiting = new WaitingCall(call, (cancelled) => this.#take(cancelled));
    this.#waiting.add(waiting);
    this.#waitingBytes += call.body.length;
    this.#connect();
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
    for (const waiting of Array.from(this.#waiting)) {
      if (this.#take(waiting)) waiting.sendOver(this.#session);
    }
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
    for (const waiting of Array.from(this.#waiting)) if (this.#take(waiting)) waiting.fail(error);
  }

  /** False if it no longer waits. */
  #take(waiting: WaitingCall): boolean {
    if (!this.#waiting.delete(waiting)) return false;
    this.#waitingBytes -= waiting.bytes;
    return true;
  }
}

const away = { notBegun: true } as const;

/** A call that waits for the link to open. */
class WaitingCall implements RemoteCall {
  readonly bytes: number;
  #call: OutgoingCall | undefined;
  readonly #onCancel: (waiting: WaitingCall) => void;
  #sent: RemoteCall | undefined;
  /** Granted since the call was made: the reader of a resumed stream reads what earlier attempts left to it. */
  #granted = 0;

  constructor(call: OutgoingCall, onCancel: (waiting: WaitingCall) => void) {
    this.bytes = call.body.length;
    this.#call = call;
    this.#onCancel = onCancel;
  }

  sendOver(session: CallerSession): void {
    const call = this.#call;
    this.#call = undefined;
    if (call === undefined) return;
    this.#sent = session.call({ ...call, credit: call.credit + this.#granted });
  }

  fail(error: ClusterError): void {
    const call = this.#call;
    this.#call = undefined;
    call?.answer.fail(error);
  }

  cancel(): void {
    this.#call = undefined;
    this.#onCancel(this);
    this.#sent?.cancel();
  }

  grant(credit: number): void {
    this.#granted += credit;
    this.#sent?.grant(credit);
  }
}
