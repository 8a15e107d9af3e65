import { Mode, type Call as CallFrame, type Reply } from '../../generated/troupe/cluster/v1/link.js';
import type { Method } from '../activation/method.js';
import type { ClusterConfig } from '../config.js';
import { ClusterError, toClusterError } from '../errors.js';
import { epoch, viewNumber, type ActorKind, type ProcessId } from '../ids/ids.js';
import type { ViewName } from '../membership/membership.js';
import type { Time } from '../time/time.js';
import { Assembler } from './assembler.js';
import { FrameWriter } from './frame-writer.js';
import type { Greeted } from './handshake.js';
import { Liveness } from './liveness.js';
import type { Frame } from './pipe.js';
import {
  errorOf,
  type CallMode,
  type OutgoingCall,
  type RemoteAnswer,
  type RemoteCall,
} from './remote-call.js';

const modes: Readonly<Record<CallMode, Mode>> = {
  routed: Mode.ROUTED,
  resident: Mode.RESIDENT,
  release: Mode.RELEASE,
  describe: Mode.DESCRIBE,
  leave: Mode.LEAVE,
};

export interface CallerHost {
  mayAct(): boolean;
  view(): ViewName;
  /** The peer named this view. */
  heardOfView(name: ViewName): void;
  onClosed(error: ClusterError): void;
  /** A call was refused because too many bytes are queued for the peer. */
  onShed(): void;
}

/** The calling end of an open link: numbers the calls and passes each answer to its caller. */
export class CallerSession {
  readonly peer: ProcessId;
  readonly #greeted: Greeted;
  readonly #config: ClusterConfig;
  readonly #host: CallerHost;
  readonly #writer: FrameWriter;
  readonly #liveness: Liveness;
  readonly #assembler: Assembler<Reply | 'item'>;
  readonly #pending = new Map<number, RemoteAnswer>();
  readonly #methods = new Map<Method | ActorKind, number>();
  #lastId = 0;
  #sentView: ViewName | undefined;
  #closed = false;

  constructor(peer: ProcessId, greeted: Greeted, time: Time, config: ClusterConfig, host: CallerHost) {
    this.peer = peer;
    this.#greeted = greeted;
    this.#config = config;
    this.#host = host;
    this.#assembler = new Assembler({
      messageBytesMax: config.messageBytesMax,
      bytesMax: incompleteAnswersMax(config),
    });
    const lapse = (): void =>
      this.close(new ClusterError('not_serving', 'the lease of this node has expired'));
    this.#writer = new FrameWriter(greeted.pipe, time, config, () => host.mayAct(), lapse);
    this.#liveness = new Liveness(
      time,
      config.linkIdlePingMs,
      config.linkSilenceMs,
      () => this.#writer.send(0, { frame: { $case: 'ping', value: {} } }),
      () => this.close(new ClusterError('peer_lost', `${peer} does not answer pings`, { process: peer })),
    );
    greeted.attach(
      (frames) => this.#onFrames(frames),
      (error) =>
        this.close(
          new ClusterError('peer_lost', `the link to ${peer} was lost`, { process: peer, cause: error }),
        ),
    );
  }

  get inFlight(): number {
    return this.#pending.size;
  }

  get queuedBytes(): number {
    return this.#writer.queuedBytes;
  }

  get assemblingBytes(): number {
    return this.#assembler.cost;
  }

  call(call: OutgoingCall): RemoteCall {
    if (this.#closed) {
      call.answer.fail(
        new ClusterError('peer_lost', 'the link is closed', { process: this.peer, notBegun: true }),
      );
      return noCall;
    }
    const refusal = overload(this.#config, this.peer, this.#pending.size, this.#writer.queuedBytes, call);
    if (refusal !== undefined) {
      this.#host.onShed();
      call.answer.fail(refusal);
      return noCall;
    }
    const id = this.#nextId();
    this.#pending.set(id, call.answer);
    this.#sendView();
    const value: CallFrame = {
      id,
      method: this.#methodNumber(call),
      group: call.group,
      key: call.key,
      body: call.body,
      more: false,
      deadlineMs: Math.max(1, Math.ceil(call.deadlineMs)),
      requestId: call.requestId,
      repeatable: call.repeatable,
      traceparent: call.traceparent ?? '',
      tracestate: call.tracestate ?? '',
      callerGroup: call.callerGroup,
      chain: call.chain.length === 0 ? noChain : [...call.chain],
      credit: call.credit,
      mode: modes[call.mode],
    };
    if (call.body.length <= this.#config.chunkBytes) {
      this.#writer.send(id, { frame: { $case: 'call', value } }, call.body.length);
    } else {
      this.#writer.sendBody(id, call.body, (body, more) => ({
        frame: { $case: 'call', value: { ...value, body, more } },
      }));
    }
    return new SentCall(this, id);
  }

  cancel(id: number): void {
    if (!this.#pending.delete(id)) return;
    this.#assembler.forget(id);
    this.#writer.send(id, { frame: { $case: 'cancel', value: { id } } });
  }

  grant(id: number, amount: number): void {
    if (this.#pending.has(id)) this.#writer.send(id, { frame: { $case: 'credit', value: { id, amount } } });
  }

  /** Fails every call in flight. */
  close(error: ClusterError): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#liveness.stop();
    this.#writer.close();
    this.#greeted.pipe.close();
    const pending = [...this.#pending.values()];
    this.#pending.clear();
    for (const answer of pending) answer.fail(error);
    this.#host.onClosed(error);
  }

  #nextId(): number {
    do this.#lastId = this.#lastId >= 0xffff_fffe ? 1 : this.#lastId + 1;
    while (this.#pending.has(this.#lastId));
    return this.#lastId;
  }

  /** A view frame sets the sender's view for all frames after it. */
  #sendView(): void {
    const view = this.#host.view();
    if (this.#sentView?.number === view.number && this.#sentView.hash === view.hash) return;
    this.#sentView = { number: view.number, hash: view.hash };
    this.#writer.send(0, { frame: { $case: 'view', value: { number: view.number, hash: view.hash } } });
  }

  #methodNumber({ method, kind }: OutgoingCall): number {
    // A method object belongs to one kind; without a method the kind is the key.
    const key = method ?? kind;
    const known = this.#methods.get(key);
    if (known !== undefined) return known;
    const number = this.#methods.size + 1;
    this.#methods.set(key, number);
    const name = method?.name ?? '';
    this.#writer.send(0, { frame: { $case: 'method', value: { number, kind, name } } });
    return number;
  }

  #onFrames(frames: readonly Frame[]): void {
    this.#liveness.heard();
    try {
      for (const frame of frames) {
        // A frame may close the session: those after it have nobody to answer.
        if (this.#closed) return;
        this.#onFrame(frame);
      }
    } catch (error) {
      const broken = toClusterError(error, 'protocol_violation');
      this.#greeted.pipe.close(broken);
      this.close(broken);
    }
  }

  #onFrame({ frame }: Frame): void {
    switch (frame?.$case) {
      case 'reply':
        this.#reply(frame.value);
        break;
      case 'item':
        if (!this.#pending.has(frame.value.id)) break;
        if (frame.value.more) this.#assembler.begin(frame.value.id, 'item', frame.value.body);
        else this.#pending.get(frame.value.id)?.item(frame.value.body);
        break;
      case 'chunk': {
        const whole = this.#assembler.add(frame.value.id, frame.value.body, frame.value.more);
        if (whole === undefined) break;
        if (whole.first !== 'item') this.#reply({ ...whole.first, body: whole.body, more: false });
        else this.#pending.get(frame.value.id)?.item(whole.body);
        break;
      }
      case 'opened':
        this.#pending.get(frame.value.id)?.opened(epoch(frame.value.epoch));
        break;
      case 'end':
        this.#take(frame.value.id)?.end();
        break;
      case 'failure':
        this.#take(frame.value.id)?.fail(errorOf(frame.value));
        break;
      case 'view':
        this.#host.heardOfView({ number: viewNumber(frame.value.number), hash: frame.value.hash });
        break;
      case 'pong':
        break;
      default:
        throw new ClusterError('protocol_violation', `unexpected frame ${frame?.$case ?? 'without a type'}`);
    }
  }

  #reply(reply: Reply): void {
    const { id, body, more } = reply;
    if (!more) this.#take(id)?.reply(body, epoch(reply.epoch));
    else if (this.#pending.has(id)) this.#assembler.begin(id, reply, body);
  }

  #take(id: number): RemoteAnswer | undefined {
    const answer = this.#pending.get(id);
    if (answer !== undefined) {
      this.#pending.delete(id);
      this.#assembler.forget(id);
    }
    return answer;
  }
}

/** A class, because one is created per call. */
class SentCall implements RemoteCall {
  readonly #session: CallerSession;
  readonly #id: number;

  constructor(session: CallerSession, id: number) {
    this.#session = session;
    this.#id = id;
  }

  cancel(): void {
    this.#session.cancel(this.#id);
  }

  grant(credit: number): void {
    this.#session.grant(this.#id, credit);
  }
}

/** Answers take turns, so those that fitted the queue of their sender one after the other fit two such queues. */
function incompleteAnswersMax({ linkAnswerBytes }: ClusterConfig): number {
  return 2 * linkAnswerBytes;
}

/** Why one more call to a peer is refused; undefined if it fits. */
export function overload(
  { linkCallsMax, linkQueueBytes, overloadRetryMs }: ClusterConfig,
  peer: ProcessId,
  calls: number,
  queuedBytes: number,
  { body }: OutgoingCall,
): ClusterError | undefined {
  const isFull = calls >= linkCallsMax;
  if (!isFull && queuedBytes + body.length <= linkQueueBytes) return undefined;
  const reason = isFull
    ? `${calls} calls to ${peer} are running already (linkCallsMax)`
    : `too many bytes are queued for ${peer} (linkQueueBytes)`;
  return new ClusterError('overloaded', reason, { retryAfterMs: overloadRetryMs, notBegun: true });
}

export const noCall: RemoteCall = { cancel() {}, grant() {} };
const noChain: string[] = [];
