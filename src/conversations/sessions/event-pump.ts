/**
 * Carries a turn's events from its actor to one client, with comments while nothing happens and an error when the
 * owner stays silent. Unsent events stay in a queue of this class, so that text that a change of the control mode
 * retracts can still be dropped.
 */
import { type Time, within } from '../../../cluster/index.js';
import { keepAliveComment, keepAliveMs, nodeStopping, transportExpiry } from '../invocation/index.js';
import type { StreamWriter } from '../../http/operations/index.js';
import type { LeaveSignal } from '../../kernel/leave-signal.js';
import type { TurnEvents } from './requests.js';
import { passingMs } from './readers.js';
import { type EventText, textOf } from './turn-log.js';

/** Above this, reading from the actor pauses until the client has taken some of the queue. */
const queueBytesMax = 1024 * 1024;
/** Of a replay, which may have many megabytes, the native side is given so much at a time. */
const replayBytes = 64 * 1024;
/** For an answer of some megabytes over a slow connection. */
const greatEventMs = 60_000;
/** The stream of a turn that waits for a person stays open this long; its client continues it later. */
const waitingMs = 5 * 60_000;
/** How long an owner may stay silent after the turn's deadline. */
const silenceMs = 15_000;
const textTypes: ReadonlySet<string> = new Set(['delta', 'thinking', 'response']);

export interface PumpSource {
  /** Events of the turn from its owner. */
  readonly events: AsyncIterableIterator<TurnEvents>;
  /** Tells the owner that the retracted text was dropped here. */
  confirmDropped(barrier: number): void;
  /** The stored events after the last one that the client has, for a turn that its owner no longer has in memory. */
  stored(after: number): Promise<Iterable<EventText> | undefined>;
}

interface Frame {
  readonly id: number;
  readonly text: string;
  readonly isText: boolean;
}

export class EventPump {
  readonly #writer: StreamWriter;
  readonly #time: Time;
  /** Aborts when the node is stopping. It waits for running turns, but for no decision of a person. */
  readonly #stopping: LeaveSignal;
  #queue: Frame[] = [];
  #queuedBytes = 0;
  #writing: Promise<void> | undefined;
  #lastId: number;
  /** The last event that was handed to the client; the later ones up to `#lastId` wait in the queue. */
  #sentId: number;
  #isDone = false;
  /** No comment follows: nobody would end the timer. */
  #isOver = false;
  #timer: { cancel(): void } | undefined;
  #deadline: { cancel(): void } | undefined;
  /** Set while the turn waits for a person. */
  #waiting: { cancel(): void } | undefined;
  #onExpired: () => void = () => undefined;
  #onDelivered: () => void = () => undefined;
  #onWaited: () => void = () => undefined;
  #onStopped: () => void = () => undefined;

  constructor(writer: StreamWriter, time: Time, stopping: LeaveSignal, after: number) {
    this.#writer = writer;
    this.#time = time;
    this.#stopping = stopping;
    this.#lastId = after;
    this.#sentId = after;
  }

  /** Whether the turn's last event has been handed to the client. */
  get isDone(): boolean {
    return this.#isDone;
  }

  /**
   * Runs until the turn has ended, the client has gone, the owner stays silent, or the turn waits for a person for too long
   * or while the node is stopping. Never rejects.
   */
  async run(source: PumpSource): Promise<void> {
    this.#commentLater();
    const gone = new Promise<'gone'>((resolve) => {
      // A client may leave while its turn is being accepted; an aborted signal fires no event.
      if (this.#writer.gone.aborted) resolve('gone');
      else this.#writer.gone.addEventListener('abort', () => resolve('gone'), { once: true });
    });
    const expired = new Promise<'expired'>((resolve) => {
      this.#onExpired = () => resolve('expired');
    });
    try {
      // Reading from the owner continues until the client has the end, because the owner may still retract queued
      // text.
      const ended = new Promise<'ended'>((resolve) => {
        this.#onDelivered = () => resolve('ended');
      });
      const waited = new Promise<'waited'>((resolve) => {
        this.#onWaited = () => resolve('waited');
      });
      const stopped = new Promise<'stopped'>((resolve) => {
        this.#onStopped = () => resolve('stopped');
      });
      const how = await Promise.race([this.#read(source), gone, expired, ended, waited, stopped]);
      // Behind the frames that still wait, if the owner's events ended in order.
      const id = this.#queue.at(-1)?.id ?? this.#sentId;
      if (how === 'expired') this.#send(expiry(this.#lastId));
      else if (how === 'broken') this.#send(broken(id));
      else if (how === 'stopped') this.#send(errorFrame(id, nodeStopping));
    } finally {
      this.#isOver = true;
      this.#timer?.cancel();
      this.#deadline?.cancel();
      this.#waiting?.cancel();
      void source.events.return?.();
    }
    await Promise.race([this.#flushed(), gone]);
  }

  async #read(source: PumpSource): Promise<'ended' | 'broken'> {
    try {
      for await (const { events, barrier, deadlineInMs, elsewhere } of source.events) {
        if (elsewhere) return await this.#readStored(source);
        if (barrier > 0) this.#dropText();
        const isBehind = this.#writing !== undefined;
        for (const event of events) {
          this.#enqueue(textOf(event));
          this.#watchWaiting(event.event.type === 'approval');
        }
        if (this.#waiting !== undefined && this.#stopping.aborted) this.#onStopped();
        if (deadlineInMs > 0) this.#watchDeadline(deadlineInMs);
        // The events of a barrier's message may be shown, but only before the owner confirms the change. And nothing is
        // read while the queue is full, not even a barrier; a client that was not behind has longer for one great event.
        const boundMs = barrier > 0 || isBehind ? passingMs : greatEventMs;
        if ((barrier > 0 || this.#queuedBytes > queueBytesMax) && !(await this.#flushedWithin(boundMs))) {
          // The connection holds text that a person retracts, or may have retracted.
          this.#writer.cut?.();
          return 'broken';
        }
        if (barrier > 0) source.confirmDropped(barrier);
      }
      return this.#isDone ? 'ended' : 'broken';
    } catch {
      // The owner cut this reader off, or the turn has no owner at present. The client reconnects with its last id
      // and gets those of the unsent events that it may still see.
      this.#queue = [];
      this.#queuedBytes = 0;
      return 'broken';
    }
  }

  async #readStored(source: PumpSource): Promise<'ended' | 'broken'> {
    const events = await source.stored(this.#lastId);
    if (events === undefined) return 'broken';
    // The turn has ended, however long its client takes to read it.
    this.#deadline?.cancel();
    this.#waiting?.cancel();
    for (const event of events) {
      this.#enqueue(event);
      if (this.#queuedBytes >= replayBytes) await this.#flushed();
      if (this.#writer.gone.aborted) break;
    }
    return 'ended';
  }

  #enqueue({ id, type, data }: EventText): void {
    this.#lastId = id;
    if (type === 'done') this.#isDone = true;
    this.#send({ id, text: `id: ${id}\nevent: ${type}\ndata: ${data}\n\n`, isText: textTypes.has(type) });
  }

  #send(frame: Frame): void {
    this.#queue.push(frame);
    this.#queuedBytes += frame.text.length;
    this.#writing ??= this.#write();
  }

  async #write(): Promise<void> {
    // Waits for the pending promise jobs, so that all events of one message go out in one write.
    await Promise.resolve();
    while (this.#queue.length > 0 && !this.#writer.gone.aborted) {
      const text = this.#queue.map((frame) => frame.text).join('');
      this.#sentId = this.#queue.at(-1)?.id ?? this.#sentId;
      this.#queue = [];
      this.#queuedBytes = 0;
      this.#commentLater();
      if (!this.#writer.write(text)) await this.#writer.drained();
    }
    // In the same step as the last look at the queue: a frame that came in between would wait for the next one.
    this.#writing = undefined;
    if (this.#isDone) this.#onDelivered();
  }

  async #flushed(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing;
  }

  #flushedWithin(boundMs: number): Promise<boolean> {
    const flushed = this.#flushed().then(() => true);
    return within(this.#time, boundMs, flushed, () => false);
  }

  #dropText(): void {
    this.#queue = this.#queue.filter(({ isText }) => !isText);
  }

  #commentLater(): void {
    this.#timer?.cancel();
    // The last frames are written after the end of the reading.
    if (this.#isOver) return;
    this.#timer = this.#time.after(keepAliveMs, () => {
      if (!this.#writer.gone.aborted && this.#queue.length === 0) this.#writer.write(keepAliveComment);
      this.#commentLater();
    });
  }

  #watchWaiting(waits: boolean): void {
    if (!waits) {
      this.#waiting?.cancel();
      this.#waiting = undefined;
      return;
    }
    // The turn's clock stands still.
    this.#deadline?.cancel();
    this.#waiting ??= this.#waitForPerson();
  }

  #waitForPerson(): { cancel(): void } {
    const timer = this.#time.after(waitingMs, () => this.#onWaited());
    const onStop = (): void => this.#onStopped();
    this.#stopping.addEventListener('abort', onStop);
    return {
      cancel: () => {
        timer.cancel();
        this.#stopping.removeEventListener('abort', onStop);
      },
    };
  }

  #watchDeadline(inMs: number): void {
    if (this.#waiting !== undefined) return;
    this.#deadline?.cancel();
    this.#deadline = this.#time.after(inMs + silenceMs, () => this.#onExpired());
  }
}

function expiry(lastId: number): Frame {
  return errorFrame(
    lastId,
    transportExpiry('EXECUTION_TIMEOUT', 'The turn did not report back after its deadline.'),
  );
}

function broken(lastId: number): Frame {
  return errorFrame(lastId, {
    type: 'error',
    code: 'service_unavailable',
    message:
      'The connection to the turn was lost. Reconnect with Last-Event-ID, or read the outcome from the execution.',
  });
}

/** Carries the id of the last event that the client has, from which the client continues. */
function errorFrame(lastId: number, event: object): Frame {
  return {
    id: lastId,
    text: `id: ${lastId}\nevent: error\ndata: ${JSON.stringify(event)}\n\n`,
    isText: false,
  };
}
