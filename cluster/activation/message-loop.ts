import type { ClusterConfig } from '../config.js';
import { ClusterError, toClusterError } from '../errors.js';
import { epoch, type ProcessId } from '../ids/ids.js';
import { SharedBound } from '../mailbox/fair-queue.js';
import { Arrivals } from '../mailbox/arrivals.js';
import { Mailbox } from '../mailbox/mailbox.js';
import { Histogram } from '../measures/histogram.js';
import { Outflow } from '../streams/outflow.js';
import type { LoopClock } from '../time/loop-clock.js';
import type { Time } from '../time/time.js';
import type { Call, CallRunner } from './call.js';
import { Cell } from './cell.js';
import { Dispatcher } from './dispatcher.js';

export interface LoopHost {
  /** Forwards a control call to the process that still runs a turn of the actor. */
  forward(cell: Cell, process: ProcessId, call: Call): void;
  /** The last handler of a moving actor has returned. */
  finished(cell: Cell): void;
}

/**
 * Takes messages from mailboxes to handlers. Turns run one at a time and in order; control calls overtake them. There
 * is no reentrancy: while a turn waits for a call its lane stays closed, a call that comes back to a waiting turn is
 * refused, and only `letNextIn` opens the lane early.
 */
export class MessageLoop implements CallRunner {
  readonly #config: ClusterConfig;
  readonly #host: LoopHost;
  readonly #queue: SharedBound;
  readonly #dispatcher: Dispatcher;
  readonly #clock: LoopClock;
  readonly #arrivals = new Arrivals();
  #bytes = 0;
  /** Of turns: from arrival to start, and from start to the return of the handler. */
  readonly waited = new Histogram();
  readonly ran = new Histogram();
  /** Of streams in either lane: from arrival to the first message. */
  readonly firstMessage = new Histogram();
  shed = 0;
  /** Actors with a running handler. */
  busy = 0;

  constructor(config: ClusterConfig, time: Time, clock: LoopClock, host: LoopHost) {
    this.#config = config;
    this.#host = host;
    this.#queue = new SharedBound(config.nodeQueueMax);
    this.#clock = clock;
    this.#dispatcher = new Dispatcher(time, (cell) => this.#startNext(cell));
  }

  get waiting(): number {
    return this.#queue.total;
  }

  get waitingBytes(): number {
    return this.#bytes;
  }

  /** Arrival time of the oldest waiting call; undefined if none waits. */
  get oldestWaitingMs(): number | undefined {
    return this.#arrivals.oldestMs;
  }

  /** Starts the calls that waited for the load. */
  loaded(cell: Cell): void {
    for (let call = cell.mailbox?.take('control'); call !== undefined; call = cell.mailbox?.take('control')) {
      this.#leaveQueue(call);
      this.#run(cell, call);
    }
    if (cell.waiting > 0) this.#dispatcher.enqueue(cell);
    else cell.mailbox = undefined;
  }

  admit(cell: Cell, call: Call): void {
    if (call.ended) return;
    call.arrivedAtMs = this.#clock.nowMs();
    if (call.lane === 'control') {
      if (cell.state === 'loading') this.#control(cell, call);
      else this.#runBeside(cell, call);
      return;
    }
    // At an ending actor it waits: its slot came back, and "moved" would send the caller here again and again.
    const isFree = cell.state === 'ready' && cell.running === undefined && cell.waiting === 0;
    if (isFree && this.#dispatcher.mayStartNow()) this.#run(cell, call);
    else this.#wait(cell, call);
  }

  /** Streams have places of their own: they stay for minutes, and no number of readers may keep a control call out. */
  #runBeside(cell: Cell, call: Call): void {
    const { controlCountMax, streamCountMax } = this.#config;
    if (cell.besides(call) < (call.streams ? streamCountMax : controlCountMax)) this.#run(cell, call);
    else if (call.streams) this.refuse(call, `${cell.kind.name} has too many open streams (streamCountMax)`);
    else this.refuse(call, 'too many control calls are running (controlCountMax)');
  }

  #control(cell: Cell, call: Call): void {
    const busyAt = cell.busyAt;
    if (busyAt === undefined) this.#wait(cell, call);
    else this.#host.forward(cell, busyAt, call);
  }

  /** A turn of the actor runs on another process: forwards waiting control calls there. */
  forwardControls(cell: Cell): void {
    for (let call = cell.mailbox?.take('control'); call !== undefined; call = cell.mailbox?.take('control')) {
      this.#leaveQueue(call);
      this.#control(cell, call);
    }
  }

  #wait(cell: Cell, call: Call): void {
    const mailbox = (cell.mailbox ??= new Mailbox(this.#config, cell.group));
    if (!this.#queue.take(call.group)) {
      this.refuse(call, 'too many calls are waiting on this node (nodeQueueMax)');
      return;
    }
    if (this.#bytes > 0 && this.#bytes + call.bytes > this.#config.nodeQueueBytes) {
      this.#queue.give(call.group);
      this.refuse(call, 'too many bytes are waiting on this node (nodeQueueBytes)');
      return;
    }
    if (!mailbox.offer(call)) {
      this.#queue.give(call.group);
      this.refuse(call, `the mailbox of ${cell.kind.name} is full`);
      return;
    }
    this.#arrivals.add(call);
    this.#bytes += call.bytes;
    call.onEndedWaiting = (ended) => {
      mailbox.forget(ended);
      this.#leaveQueue(ended);
    };
    if (cell.state === 'ready' && cell.running === undefined) this.#dispatcher.enqueue(cell);
  }

  #leaveQueue(call: Call): void {
    call.onEndedWaiting = undefined;
    this.#arrivals.remove(call);
    this.#bytes -= call.bytes;
    this.#queue.give(call.group);
  }

  #startNext(cell: Cell): void {
    if (cell.state !== 'ready' || cell.running !== undefined) return;
    const call = cell.mailbox?.take('turn');
    if (call === undefined) {
      cell.mailbox = undefined;
      return;
    }
    if (cell.waiting === 0) cell.mailbox = undefined;
    this.#leaveQueue(call);
    this.#run(cell, call);
  }

  #run(cell: Cell, call: Call): void {
    const handler = cell.instance?.[call.method.name];
    if (cell.instance === undefined || handler === undefined) {
      call.fail(new ClusterError('not_serving', 'the activation has ended', { notBegun: true }));
      return;
    }
    call.begun = true;
    if (!cell.busy) this.busy += 1;
    const arrivedAtMs = call.arrivedAtMs;
    call.arrivedAtMs = this.#clock.nowMs();
    if (call.lane === 'turn') {
      this.waited.add(call.arrivedAtMs - arrivedAtMs);
      cell.running = call;
      call.runner = this;
      call.cell = cell;
    } else {
      cell.addParallel(call);
    }
    try {
      const result = handler.call(cell.instance, call.input, call);
      if (call.method.streams) this.#stream(cell, call, result, arrivedAtMs);
      else if (result instanceof Promise) {
        result.then(
          (value: unknown) => this.#done(cell, call, value),
          (error: unknown) => this.#failed(cell, call, error),
        );
      } else this.#done(cell, call, result);
    } catch (error) {
      this.#failed(cell, call, error);
    }
  }

  #stream(cell: Cell, call: Call, result: unknown, arrivedAtMs: number): void {
    if (!isAsyncIterable(result)) {
      this.#failed(cell, call, new TypeError(`${call.method.name} did not return a stream`));
      return;
    }
    let isFirst = true;
    const outflow = new Outflow<unknown>(
      result[Symbol.asyncIterator](),
      {
        item: (value) => {
          if (isFirst) this.firstMessage.add(this.#clock.nowMs() - arrivedAtMs);
          isFirst = false;
          return call.item(value);
        },
        end: (error) => {
          if (error === undefined) call.endStream();
          else call.fail(toClusterError(error));
        },
      },
      call.credit,
    );
    call.source = outflow;
    call.openedStream(cell.holder?.fence.epoch ?? noEpoch);
    void outflow.run().then(() => this.#returned(cell, call));
  }

  #done(cell: Cell, call: Call, value: unknown): void {
    call.reply(value);
    this.#returned(cell, call);
  }

  #failed(cell: Cell, call: Call, error: unknown): void {
    call.fail(toClusterError(error));
    this.#returned(cell, call);
  }

  letNextIn(call: Call): void {
    const { cell } = call;
    if (!(cell instanceof Cell) || cell.running !== call) return;
    // While as many run beside each other as may wait, the next one waits for the end of this one.
    if (cell.turnsBeside >= this.#config.mailboxCountMax) return;
    cell.running = undefined;
    cell.addParallel(call);
    if (cell.waiting > 0 && cell.state === 'ready') this.#dispatcher.enqueue(cell);
  }

  /** The handler has returned, possibly long after its call was answered. */
  #returned(cell: Cell, call: Call): void {
    if (cell.running === call) cell.running = undefined;
    else cell.removeParallel(call);
    call.runner = undefined;
    if (call.lane === 'turn') this.ran.add(this.#clock.nowMs() - call.arrivedAtMs);
    if (cell.state !== 'gone' && !cell.busy) this.busy -= 1;
    if (cell.state === 'ending' && !cell.busy) this.#host.finished(cell);
    else if (cell.state === 'ready' && cell.running === undefined && cell.waiting > 0) {
      this.#dispatcher.enqueue(cell);
    }
  }

  /** The cell leaves memory, even if it is running. */
  removed(cell: Cell): void {
    if (cell.busy) this.busy -= 1;
  }

  refuse(call: Call, reason: string): void {
    this.shed += 1;
    call.fail(
      new ClusterError('overloaded', reason, { retryAfterMs: this.#config.overloadRetryMs, notBegun: true }),
    );
  }

  failWaiting(cell: Cell, failure: ClusterError): void {
    const mailbox = cell.mailbox;
    if (mailbox === undefined) return;
    cell.mailbox = undefined;
    for (const lane of ['control', 'turn'] as const) {
      for (let call = mailbox.take(lane); call !== undefined; call = mailbox.take(lane)) {
        this.#leaveQueue(call);
        call.fail(failure);
      }
    }
  }
}

const noEpoch = epoch(0);

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
}
