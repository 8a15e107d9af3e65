import { Mode, type Call as CallFrame } from '../../generated/troupe/cluster/v1/link.js';
import type { ClusterConfig } from '../config.js';
import { ClusterError, toClusterError } from '../errors.js';
import { viewNumber, type Epoch } from '../ids/ids.js';
import type { ViewName } from '../membership/membership.js';
import type { Time } from '../time/time.js';
import { Assembler } from './assembler.js';
import { FrameWriter } from './frame-writer.js';
import type { Greeted } from './handshake.js';
import { Liveness } from './liveness.js';
import type { Frame } from './pipe.js';
import { failureOf, type CallMode } from './remote-call.js';

/** A call received over a link, with its body still encoded. */
export interface IncomingCall {
  readonly mode: CallMode;
  readonly kind: string;
  readonly method: string;
  readonly group: string;
  readonly key: string;
  readonly body: Uint8Array;
  readonly deadlineMs: number;
  readonly requestId: string;
  readonly repeatable: boolean;
  readonly traceparent: string;
  readonly tracestate: string;
  readonly callerGroup: string;
  readonly chain: readonly string[];
  readonly credit: number;
  /** The caller's view when it sent the call. */
  readonly view: ViewName | undefined;
  readonly answer: IncomingAnswer;
}

export interface IncomingAnswer {
  opened(epoch: Epoch): void;
  reply(body: Uint8Array, epoch: Epoch): void;
  item(body: Uint8Array): void;
  end(): void;
  fail(error: ClusterError): void;
}

/** The link's handle of a received call. */
export interface IncomingHandle {
  cancel(): void;
  grant(credit: number): void;
  /** The caller is gone: a stream has no reader left and ends; a single answer is still computed. */
  detach(): void;
}

export interface ServerHost {
  mayAct(): boolean;
  view(): ViewName;
  heardOfView(name: ViewName): void;
  receive(call: IncomingCall): IncomingHandle;
  onClosed(): void;
}

/** The answering end of an open link. */
export class ServerSession {
  readonly peer: string;
  readonly #greeted: Greeted;
  readonly #config: ClusterConfig;
  readonly #host: ServerHost;
  readonly #writer: FrameWriter;
  readonly #liveness: Liveness;
  readonly #assembler: Assembler<CallFrame>;
  readonly #running = new Map<number, IncomingHandle>();
  readonly #methods = new Map<number, { readonly kind: string; readonly name: string }>();
  #view: ViewName | undefined;
  #sentView: ViewName | undefined;
  #closed = false;

  constructor(greeted: Greeted, time: Time, config: ClusterConfig, host: ServerHost) {
    this.peer = greeted.peer;
    this.#greeted = greeted;
    this.#config = config;
    this.#host = host;
    this.#assembler = new Assembler({
      messageBytesMax: config.messageBytesMax,
      bytesMax: config.linkAssemblyBytes,
    });
    this.#writer = new FrameWriter(
      greeted.pipe,
      time,
      config,
      () => host.mayAct(),
      () => this.close(),
    );
    this.#liveness = new Liveness(
      time,
      config.linkIdlePingMs,
      config.linkSilenceMs,
      () => {},
      () => this.close(),
    );
    greeted.attach(
      (frames) => this.#onFrames(frames),
      () => this.close(),
    );
  }

  get running(): number {
    return this.#running.size;
  }

  get queuedBytes(): number {
    return this.#writer.queuedBytes;
  }

  /** Bytes of calls of which a part has arrived. */
  get assemblingBytes(): number {
    return this.#assembler.cost;
  }

  /** Sends waiting frames, so that the last answers of a leaving node are not lost. */
  flush(): void {
    this.#writer.flush();
  }

  close(error?: Error): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#liveness.stop();
    this.#writer.close();
    this.#greeted.pipe.close(error);
    for (const handle of this.#running.values()) handle.detach();
    this.#running.clear();
    this.#host.onClosed();
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
      this.close(toClusterError(error, 'protocol_violation'));
    }
  }

  #onFrame({ frame }: Frame): void {
    switch (frame?.$case) {
      case 'call':
        if (frame.value.more) this.#assembler.begin(frame.value.id, frame.value, frame.value.body);
        else this.#onCall(frame.value, frame.value.body);
        break;
      case 'chunk': {
        const whole = this.#assembler.add(frame.value.id, frame.value.body, frame.value.more);
        if (whole !== undefined) this.#onCall(whole.first, whole.body);
        break;
      }
      case 'credit':
        this.#running.get(frame.value.id)?.grant(frame.value.amount);
        break;
      case 'cancel':
        this.#assembler.forget(frame.value.id);
        this.#running.get(frame.value.id)?.cancel();
        this.#running.delete(frame.value.id);
        break;
      case 'method':
        if (this.#methods.size >= this.#config.linkMethodsMax) {
          throw new ClusterError(
            'protocol_violation',
            `the peer names more than ${this.#methods.size} methods (linkMethodsMax)`,
          );
        }
        this.#methods.set(frame.value.number, frame.value);
        break;
      case 'view':
        this.#view = { number: viewNumber(frame.value.number), hash: frame.value.hash };
        this.#host.heardOfView(this.#view);
        break;
      case 'ping':
        // Skips the pong if the queue is full: a peer that pings without reading gets its answer from the queue.
        if (this.#writer.queuedBytes < this.#config.linkQueueBytes)
          this.#writer.send(0, { frame: { $case: 'pong', value: {} } });
        break;
      default:
        throw new ClusterError('protocol_violation', `unexpected frame ${frame?.$case ?? 'without a type'}`);
    }
  }

  #onCall(frame: CallFrame, body: Uint8Array): void {
    const { id } = frame;
    const method = this.#methods.get(frame.method);
    if (method === undefined || this.#running.has(id)) {
      throw new ClusterError(
        'protocol_violation',
        `call ${id} names an unknown method or is already running`,
      );
    }
    const answer = new Answer(this, id);
    if (this.#running.size >= this.#config.linkCallsMax) {
      const reason = `${this.#running.size} calls of ${this.peer} are already running (linkCallsMax)`;
      answer.fail(this.#overloaded(reason, true));
      return;
    }
    if (!this.#fits(0)) {
      answer.fail(this.#overloaded(`${this.peer} does not read its answers (linkAnswerBytes)`, true));
      return;
    }
    const handle = this.#host.receive({
      mode: modeOf(frame.mode),
      kind: method.kind,
      method: method.name,
      group: frame.group,
      key: frame.key,
      body,
      deadlineMs: frame.deadlineMs,
      requestId: frame.requestId,
      repeatable: frame.repeatable,
      traceparent: frame.traceparent,
      tracestate: frame.tracestate,
      callerGroup: frame.callerGroup,
      chain: frame.chain,
      credit: frame.credit,
      view: this.#view,
      answer,
    });
    // It may have been answered before the handle existed.
    if (!answer.ended) this.#running.set(id, handle);
  }

  // ── answers

  opened(id: number, epoch: Epoch): void {
    this.#send(id, { frame: { $case: 'opened', value: { id, epoch } } });
  }

  reply(id: number, body: Uint8Array, epoch: Epoch): void {
    if (!this.#fits(body.length)) {
      this.fail(id, this.#unread());
      return;
    }
    if (!this.#finish(id)) return;
    if (body.length <= this.#config.chunkBytes) {
      const frame: Frame = { frame: { $case: 'reply', value: { id, body, more: false, epoch } } };
      this.#writer.send(id, frame, body.length);
      return;
    }
    this.#writer.sendBody(id, body, (part, more) => ({
      frame: { $case: 'reply', value: { id, body: part, more, epoch } },
    }));
  }

  /** False if the message does not fit the queue to the peer. */
  item(id: number, body: Uint8Array): boolean {
    if (!this.#fits(body.length)) return false;
    this.#writer.sendBody(id, body, (part, more) => ({
      frame: { $case: 'item', value: { id, body: part, more } },
    }));
    return true;
  }

  /** Ends a stream whose messages are not read. */
  unread(id: number): void {
    const handle = this.#running.get(id);
    this.fail(id, this.#unread());
    handle?.cancel();
  }

  end(id: number): void {
    if (this.#finish(id)) this.#send(id, { frame: { $case: 'end', value: { id } } });
  }

  fail(id: number, error: ClusterError): void {
    if (!this.#finish(id)) return;
    // A caller with an older view must receive the newer one before it reads "moved".
    if (error.tag === 'moved') this.#sendView();
    const value = failureOf(id, error);
    this.#send(id, { frame: { $case: 'failure', value } }, value.message.length + value.detail.length);
  }

  /** Whether an answer of so many bytes fits the queue to the peer. */
  #fits(bytes: number): boolean {
    return this.#writer.queuedBytes + bytes <= this.#config.linkAnswerBytes;
  }

  #unread(): ClusterError {
    return this.#overloaded(`the answer does not fit the queue to ${this.peer} (linkAnswerBytes)`, false);
  }

  #overloaded(reason: string, notBegun: boolean): ClusterError {
    return new ClusterError('overloaded', reason, { retryAfterMs: this.#config.overloadRetryMs, notBegun });
  }

  /** Short frames, refusals among them, go beyond the bound; a peer that reads none of them loses its link. */
  #send(id: number, frame: Frame, bytes = 0): void {
    this.#writer.send(id, frame, bytes);
    if (this.#writer.queuedBytes <= this.#config.linkAnswerBytes * 2) return;
    this.close(this.#overloaded(`${this.peer} reads none of its answers (linkAnswerBytes)`, false));
  }

  #finish(id: number): boolean {
    this.#running.delete(id);
    return !this.#closed;
  }

  #sendView(): void {
    const view = this.#host.view();
    if (this.#sentView?.number === view.number && this.#sentView.hash === view.hash) return;
    this.#sentView = { number: view.number, hash: view.hash };
    this.#writer.send(0, { frame: { $case: 'view', value: { number: view.number, hash: view.hash } } });
  }
}

/** A class, because one is created per call. Only its first end counts. */
class Answer implements IncomingAnswer {
  readonly #session: ServerSession;
  readonly #id: number;
  ended = false;

  constructor(session: ServerSession, id: number) {
    this.#session = session;
    this.#id = id;
  }

  opened(epoch: Epoch): void {
    this.#session.opened(this.#id, epoch);
  }

  reply(body: Uint8Array, epoch: Epoch): void {
    if (this.#finish()) this.#session.reply(this.#id, body, epoch);
  }

  item(body: Uint8Array): void {
    if (this.ended || this.#session.item(this.#id, body)) return;
    this.ended = true;
    this.#session.unread(this.#id);
  }

  end(): void {
    if (this.#finish()) this.#session.end(this.#id);
  }

  fail(error: ClusterError): void {
    if (this.#finish()) this.#session.fail(this.#id, error);
  }

  #finish(): boolean {
    const isFirst = !this.ended;
    this.ended = true;
    return isFirst;
  }
}

function modeOf(mode: Mode): CallMode {
  if (mode === Mode.RESIDENT) return 'resident';
  if (mode === Mode.RELEASE) return 'release';
  if (mode === Mode.DESCRIBE) return 'describe';
  if (mode === Mode.LEAVE) return 'leave';
  return 'routed';
}
