/**
 * From a turn's actor to one client: events as they come, comments while nothing comes, an error when the owner stays
 * silent. What is not sent yet stays in a queue of our own, so that text which a change of the control mode takes back
 * can still be dropped from it.
 */
import type { Time } from '../../../cluster/index.js';
import type { RunResponse } from '../../../generated/troupe/actors/v1/session.js';
import { keepAliveComment, keepAliveMs, transportExpiry } from '../invocation/index.js';
import type { StreamWriter } from '../../http/operations/index.js';
import type { LoggedEvent } from './turn-log.js';

/** Above this the actor is not read on until the client has taken some of it. */
const queueBytesMax = 1024 * 1024;
/** How long an owner may stay silent past the turn's deadline. */
const silenceMs = 15_000;
const textTypes: ReadonlySet<string> = new Set(['delta', 'thinking', 'response']);

export interface PumpSource {
  /** Events of the turn from its owner. */
  readonly events: AsyncIterableIterator<RunResponse>;
  /** Tells the owner that what it took back was dropped here. */
  passed(barrier: number): void;
  /** What is left of a turn that its owner has forgotten, behind the last event that the client has. */
  stored(after: number): Promise<readonly LoggedEvent[] | undefined>;
}

interface Frame {
  readonly id: number;
  readonly text: string;
  readonly isText: boolean;
}

export class EventPump {
  readonly #writer: StreamWriter;
  readonly #time: Time;
  #queue: Frame[] = [];
  #queuedBytes = 0;
  #writing: Promise<void> | undefined;
  #lastId: number;
  /** The last event that was handed to the client; what lies between waits in the queue. */
  #sentId: number;
  #isDone = false;
  #timer: { cancel(): void } | undefined;
  #deadline: { cancel(): void } | undefined;
  #expire: () => void = () => undefined;
  #handedOn: () => void = () => undefined;

  constructor(writer: StreamWriter, time: Time, after: number) {
    this.#writer = writer;
    this.#time = time;
    this.#lastId = after;
    this.#sentId = after;
  }

  /** Whether the turn's last event has been handed to the client. */
  get isDone(): boolean {
    return this.#isDone;
  }

  /** Until the turn has ended, the client has gone, or the owner stays silent. Never rejects. */
  async run(source: PumpSource): Promise<void> {
    this.#commentLater();
    const gone = new Promise<'gone'>((resolve) => {
      this.#writer.gone.addEventListener('abort', () => resolve('gone'), { once: true });
    });
    const expired = new Promise<'expired'>((resolve) => {
      this.#expire = () => resolve('expired');
    });
    try {
      // The owner is read on until the client has the end, since it may take back what waits here.
      const ended = new Promise<'ended'>((resolve) => {
        this.#handedOn = () => resolve('ended');
      });
      const how = await Promise.race([this.#read(source), gone, expired, ended]);
      if (how === 'expired') this.#send(expiry(this.#lastId));
      else if (how === 'broken') this.#send(broken(this.#sentId));
    } finally {
      this.#timer?.cancel();
      this.#deadline?.cancel();
      void source.events.return?.();
    }
    await Promise.race([this.#flushed(), gone]);
  }

  async #read(source: PumpSource): Promise<'ended' | 'broken'> {
    try {
      for await (const { events, barrier, deadlineInMs, elsewhere } of source.events) {
        if (elsewhere) return await this.#readStored(source);
        if (barrier > 0) this.#dropText();
        for (const { id, type, dataJson } of events) this.#take({ id, type, data: dataJson });
        if (barrier > 0) {
          // What this message brought may be shown, but only before the change is answered.
          await this.#flushed();
          source.passed(barrier);
        }
        if (deadlineInMs > 0) this.#watchDeadline(deadlineInMs);
        if (this.#queuedBytes > queueBytesMax) await this.#flushed();
      }
      return this.#isDone ? 'ended' : 'broken';
    } catch {
      // The owner cut this reader off, or nobody owns the turn just now: the client comes again with its last id,
      // and gets what it may still see of the events that were not sent.
      this.#queue = [];
      this.#queuedBytes = 0;
      return 'broken';
    }
  }

  async #readStored(source: PumpSource): Promise<'ended' | 'broken'> {
    const events = await source.stored(this.#lastId);
    if (events === undefined) return 'broken';
    for (const event of events) this.#take(event);
    return 'ended';
  }

  #take({ id, type, data }: LoggedEvent): void {
    this.#lastId = id;
    if (type === 'done') this.#isDone = true;
    this.#send({ id, text: `id: ${id}\nevent: ${type}\ndata: ${data}\n\n`, isText: textTypes.has(type) });
  }

  #send(frame: Frame): void {
    this.#queue.push(frame);
    this.#queuedBytes += frame.text.length;
    this.#writing ??= this.#write().finally(() => {
      this.#writing = undefined;
      if (this.#isDone) this.#handedOn();
    });
  }

  async #write(): Promise<void> {
    // After the promise jobs of now: what one message brought goes out in one write.
    await Promise.resolve();
    while (this.#queue.length > 0 && !this.#writer.gone.aborted) {
      const text = this.#queue.map((frame) => frame.text).join('');
      this.#sentId = this.#queue.at(-1)?.id ?? this.#sentId;
      this.#queue = [];
      this.#queuedBytes = 0;
      this.#commentLater();
      if (!this.#writer.write(text)) await this.#writer.drained();
    }
  }

  async #flushed(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing;
  }

  #dropText(): void {
    this.#queue = this.#queue.filter(({ isText }) => !isText);
  }

  #commentLater(): void {
    this.#timer?.cancel();
    this.#timer = this.#time.after(keepAliveMs, () => {
      if (!this.#writer.gone.aborted && this.#queue.length === 0) this.#writer.write(keepAliveComment);
      this.#commentLater();
    });
  }

  #watchDeadline(inMs: number): void {
    this.#deadline?.cancel();
    this.#deadline = this.#time.after(inMs + silenceMs, () => this.#expire());
  }
}

function expiry(lastId: number): Frame {
  return errorFrame(
    lastId,
    transportExpiry('EXECUTION_TIMEOUT', 'The turn gave no sign of life past its deadline.'),
  );
}

function broken(lastId: number): Frame {
  return errorFrame(lastId, {
    type: 'error',
    code: 'service_unavailable',
    message: 'The connection to the turn was lost. Its outcome will be found under the execution.',
  });
}

/** Under the id of the last event that the client has: it goes on from there. */
function errorFrame(lastId: number, event: object): Frame {
  return {
    id: lastId,
    text: `id: ${lastId}\nevent: error\ndata: ${JSON.stringify(event)}\n\n`,
    isText: false,
  };
}
