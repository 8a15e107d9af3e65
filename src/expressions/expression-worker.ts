import { Worker } from 'node:worker_threads';
import { ExpressionError, type ExpressionFailure } from './expression-error.js';

/** What a thread is told, and what it answers. Documents go as text: that is the cheapest to hand over. */
export interface Job {
  readonly expression: string;
  readonly document: string;
  readonly resultCharsMax: number;
}

export type Outcome =
  | { readonly json: string }
  | { readonly failure: ExpressionFailure; readonly reason?: string };

interface Waiting {
  readonly job: Job;
  readonly done: (json: string) => void;
  readonly failed: (error: ExpressionError) => void;
}

export interface ExpressionWorkerOptions {
  readonly timeoutMs: number;
  readonly resultCharsMax: number;
  readonly waitingMax: number;
}

/** Enough for any document that comes here, far below what the node has. */
const memoryMaxMb = 128;

/**
 * One thread for all expressions. An expression of a thousand characters can double its result a hundred times over;
 * in a thread it costs nobody else's time, and the thread can be ended, which is the only way to stop it.
 */
export class ExpressionWorker {
  readonly #options: ExpressionWorkerOptions;
  readonly #queue: Waiting[] = [];
  #thread: Worker | undefined;
  #ready = false;
  #running: Waiting | undefined;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: ExpressionWorkerOptions) {
    this.#options = options;
  }

  async evaluate(expression: string, document: unknown): Promise<unknown> {
    if (this.#closed || this.#queue.length >= this.#options.waitingMax) {
      throw new ExpressionError('overloaded', 'Too many expressions wait to be evaluated.');
    }
    const { resultCharsMax } = this.#options;
    const job = { expression, document: JSON.stringify(document ?? null), resultCharsMax };
    const json = await new Promise<string>((done, failed) => {
      this.#queue.push({ job, done, failed });
      this.#next();
    });
    return JSON.parse(json) as unknown;
  }

  async close(): Promise<void> {
    this.#closed = true;
    const thread = this.#thread;
    this.#lose('overloaded', 'The node is stopping.');
    for (const { failed } of this.#queue.splice(0)) {
      failed(new ExpressionError('overloaded', 'The node is stopping.'));
    }
    await thread?.terminate();
  }

  #next(): void {
    if (this.#running !== undefined || this.#queue.length === 0) return;
    const thread = (this.#thread ??= this.#start());
    // The clock of an evaluation does not run while a thread is being started.
    if (!this.#ready) return;
    const waiting = this.#queue.shift();
    if (waiting === undefined) return;
    this.#running = waiting;
    thread.ref();
    this.#timer = setTimeout(() => {
      // A loop that was held up fires its timers before it hears the thread: the outcome may have been there in time.
      setImmediate(() => {
        if (this.#running !== waiting) return;
        this.#lose('timeout', `The expression took longer than ${this.#options.timeoutMs} ms.`);
        void thread.terminate();
        this.#next();
      });
    }, this.#options.timeoutMs);
    thread.postMessage(waiting.job, []);
  }

  #start(): Worker {
    const thread = new Worker(new URL('./evaluate.worker.js', import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: memoryMaxMb, maxYoungGenerationSizeMb: 16 },
    });
    thread.on('message', (message: 'ready' | Outcome) => {
      if (thread !== this.#thread) return;
      if (message === 'ready') this.#ready = true;
      else this.#finish(message);
      // Idle, it keeps no process alive.
      if (this.#queue.length === 0) thread.unref();
      this.#next();
    });
    // Out of memory, above all. Whoever waited learns it; the next one gets a new thread.
    thread.on('error', (cause) => {
      if (thread !== this.#thread) return;
      // A thread that fails before it is ready will fail again: then the one who waits for it must not wait on.
      if (!this.#ready) this.#running ??= this.#queue.shift();
      this.#lose('too-large', 'The expression needed more memory than it may use.', cause);
      this.#next();
    });
    return thread;
  }

  #finish(outcome: Outcome): void {
    const running = this.#running;
    this.#running = undefined;
    clearTimeout(this.#timer);
    if ('json' in outcome) return running?.done(outcome.json);
    const message =
      outcome.failure === 'too-large'
        ? 'The result of the expression is too large.'
        : `The expression cannot be applied: ${outcome.reason ?? ''}`;
    running?.failed(new ExpressionError(outcome.failure, message));
  }

  /** Gives the thread up, and with it what it was doing. */
  #lose(failure: ExpressionFailure, message: string, cause?: unknown): void {
    clearTimeout(this.#timer);
    const running = this.#running;
    this.#running = undefined;
    this.#thread = undefined;
    this.#ready = false;
    running?.failed(new ExpressionError(failure, message, { cause }));
  }
}
