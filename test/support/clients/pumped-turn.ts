// A turn on its way from its owner to a client, both played by the test.
import { doneEvent, type StreamEvent } from '../../../src/conversations/invocation/index.js';
import { EventPump, type PumpSource } from '../../../src/conversations/sessions/event-pump.js';
import type { TurnEvents } from '../../../src/conversations/sessions/requests.js';
import type { EventText } from '../../../src/conversations/sessions/turn-log.js';
import { LeaveController } from '../../../src/kernel/leave-signal.js';
import { eventually } from '../clocks/eventually.js';
import { ManualTime } from '../clocks/manual-time.js';

/** A client whose connection accepts one write at a time, and the next when the test says so. */
export class SlowClient {
  readonly writes: string[] = [];
  readonly #leaving = new AbortController();
  #wake: (() => void) | undefined;
  /** Takes everything at once from now on. */
  isFast = false;
  isCut = false;

  get gone(): AbortSignal {
    return this.#leaving.signal;
  }

  get text(): string {
    return this.writes.join('');
  }

  get types(): readonly string[] {
    return [...this.text.matchAll(/^event: (.*)$/gm)].map(([, type = '']) => type);
  }

  write(text: string): boolean {
    this.writes.push(text);
    return this.isFast;
  }

  drained(): Promise<void> {
    return new Promise((resolve) => (this.#wake = resolve));
  }

  get isWaitedFor(): boolean {
    return this.#wake !== undefined;
  }

  read(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }

  leave(): void {
    this.#leaving.abort();
    this.read();
  }

  cut(): void {
    this.isCut = true;
    this.leave();
  }
}

/** The owner of a turn, whose messages the test sends one by one. */
export class Owner implements PumpSource {
  readonly passedBarriers: number[] = [];
  asked = 0;
  #waiting:
    | {
        readonly resolve: (message: IteratorResult<TurnEvents>) => void;
        readonly reject: (error: Error) => void;
      }
    | undefined;
  #id = 0;

  readonly events: AsyncIterableIterator<TurnEvents> = {
    next: () => {
      this.asked += 1;
      return new Promise((resolve, reject) => (this.#waiting = { resolve, reject }));
    },
    return: () => Promise.resolve({ done: true, value: undefined }),
    [Symbol.asyncIterator]() {
      return this;
    },
  };

  confirmDropped(barrier: number): void {
    this.passedBarriers.push(barrier);
  }

  /** What the store has of the turn once it has ended. */
  log: Iterable<EventText> | undefined;

  stored(): Promise<Iterable<EventText> | undefined> {
    return Promise.resolve(this.log);
  }

  async say(types: readonly StreamEvent['type'][], more: Partial<TurnEvents> = {}): Promise<void> {
    const waiting = await eventually(() => this.#waiting, { what: 'the pump reads on' });
    this.#waiting = undefined;
    const events = types.map((type) => {
      this.#id += 1;
      return { id: this.#id, event: eventOf(type, `text ${this.#id}`) };
    });
    waiting.resolve({
      done: false,
      value: { events, barrier: 0, deadlineInMs: 0, elsewhere: false, after: 0, ...more },
    });
  }

  async end(error?: Error): Promise<void> {
    const waiting = await eventually(() => this.#waiting);
    if (error === undefined) waiting.resolve({ done: true, value: undefined });
    else waiting.reject(error);
  }

  get isRead(): boolean {
    return this.#waiting !== undefined;
  }
}

/** An event whose text shows which one it is. */
export function eventOf(type: StreamEvent['type'], content: string): StreamEvent {
  const ids = { session_id: content, execution_id: 'e' };
  switch (type) {
    case 'delta':
    case 'thinking':
    case 'response':
      return { type, content };
    case 'metadata':
      return { type, accepted_fields: [], ignored_fields: [], ...ids };
    case 'tool':
      return { type, call_id: 'c', name: content, state: 'started' };
    case 'status':
      return { type, state: 'running' };
    case 'approval':
      return { type, approval_id: content, tool: 'pay', arguments: {} };
    case 'done':
      return doneEvent(ids, 'COMPLETED');
    default:
      throw new Error(`no event ${type}`);
  }
}

/** A turn that is being sent to its client. */
export function startPump() {
  const client = new SlowClient();
  const owner = new Owner();
  const time = new ManualTime('2026-01-01T00:00:00Z');
  const stopping = new LeaveController();
  const pump = new EventPump(client, time, stopping, 0);
  return { client, owner, time, pump, running: pump.run(owner), stop: () => stopping.leave() };
}
