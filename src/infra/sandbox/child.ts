import { type ChildProcess, fork } from 'node:child_process';
import { Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import type { Time, Timer } from '../../../cluster/index.js';
import type { Order, Report, TaskFailure } from './protocol.js';
import { residentBytes } from './resident-memory.js';

export interface ChildOptions {
  readonly time: Time;
  /** Of the whole process. The heap of JavaScript has a limit of its own below it. */
  readonly residentBytesMax: number;
  /** Called when the process has gone, whatever ended it. */
  readonly onGone: () => void;
}

export interface Assignment {
  readonly module: string;
  readonly input: unknown;
  readonly timeoutMs: number;
}

export type Outcome =
  | { readonly output: unknown; readonly cpuMs: number }
  | {
      readonly failure: TaskFailure;
      readonly reason: string;
      readonly cpuMs: number;
      /** The process is gone with it. */
      readonly lost?: true;
    }
  /** The process never came to the task: a fault of the installation, not of the task. */
  | { readonly unable: string };

interface Running {
  readonly assignment: Assignment;
  readonly end: (outcome: Outcome) => void;
  timer: Timer | undefined;
  startedAtMs: number | undefined;
}

/** Enough for a document of 10 MB as JavaScript holds it. */
const heapMb = 128;
/** A process takes about 50 ms to start and to load a task on an idle machine. */
const startMs = 30_000;
/** How often the memory of a task is looked at that takes longer than this. */
const memoryEveryMs = 25;
const lastWordsMax = 500;

/** A child process that does one task at a time. After a time-out or a crash it is gone. */
export class Child {
  readonly #options: ChildOptions;
  readonly #process: ChildProcess;
  readonly #loaded = new Set<string>();
  readonly #gone: Promise<void>;
  #running: Running | undefined;
  #usable = true;
  /** Why this side ended it; undefined while it has not. */
  #killedFor: { readonly failure: TaskFailure; readonly reason: string } | undefined;
  #lastWords = '';

  constructor(options: ChildOptions) {
    this.#options = options;
    this.#process = fork(fileURLToPath(new URL('./child.process.js', import.meta.url)), [], {
      // The environment holds the secrets of the node, and the arguments of its own process are not meant for this one.
      env: {},
      execArgv: [`--max-old-space-size=${heapMb}`, '--max-semi-space-size=16'],
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    this.#gone = new Promise((resolve) => {
      this.#process.once('exit', (code, signal) => {
        this.#onGone(`it ended with ${signal ?? `exit code ${code}`}`);
        resolve();
      });
      this.#process.once('error', (error) => {
        // A process that was never started does not exit either.
        if (this.#process.pid !== undefined) return;
        this.#onGone(error.message);
        resolve();
      });
    });
    this.#process.on('message', (report: Report) => this.#take(report));
    this.#process.stderr?.on('data', (chunk: Buffer) => {
      this.#lastWords = (this.#lastWords + chunk.toString('utf8')).slice(-lastWordsMax);
    });
    this.#keepNode(false);
  }

  get pid(): number | undefined {
    return this.#process.pid;
  }

  /** False once it has ended, or is about to. */
  get usable(): boolean {
    return this.#usable;
  }

  get idle(): boolean {
    return this.#usable && this.#running === undefined;
  }

  run(assignment: Assignment): Promise<Outcome> {
    if (!this.idle) throw new TypeError('a child does one task at a time');
    return new Promise((end) => {
      this.#running = { assignment, end, timer: undefined, startedAtMs: undefined };
      this.#keepNode(true);
      if (this.#loaded.has(assignment.module)) return this.#begin();
      this.#within(startMs, () => this.#kill('timeout', `it was not ready after ${startMs} ms`));
      this.#send({ kind: 'load', module: assignment.module });
    });
  }

  /** Resolves when the process has gone. */
  stop(): Promise<void> {
    this.#usable = false;
    this.#process.ref();
    this.#process.kill('SIGKILL');
    return this.#gone;
  }

  #begin(): void {
    const running = this.#running;
    if (running === undefined) return;
    const { module, input, timeoutMs } = running.assignment;
    running.startedAtMs = this.#options.time.monotonicMs();
    this.#send({ kind: 'run', module, input });
    this.#watch(running, timeoutMs);
  }

  /** Looks at the memory now and then until the time is over. */
  #watch(running: Running, leftMs: number): void {
    const stepMs = Math.min(leftMs, memoryEveryMs);
    this.#within(stepMs, () => {
      const left = leftMs - stepMs;
      const { residentBytesMax } = this.#options;
      if ((residentBytes(this.#process.pid ?? 0) ?? 0) > residentBytesMax) {
        this.#kill('too-large', `it needed more than ${residentBytesMax / 1_048_576} MB of memory`);
      } else if (left > 0) {
        this.#watch(running, left);
      } else {
        this.#kill('timeout', `it took longer than ${running.assignment.timeoutMs} ms`);
      }
    });
  }

  #within(delayMs: number, action: () => void): void {
    const { time } = this.#options;
    const running = this.#running;
    if (running === undefined) return;
    running.timer?.cancel();
    running.timer = time.after(delayMs, () => {
      // A loop that was held up fires its timers before it reads what the child has said: it may have been in time.
      time.soon(() => {
        if (this.#running === running) action();
      });
    });
  }

  #kill(failure: TaskFailure, reason: string): void {
    this.#usable = false;
    this.#killedFor = { failure, reason };
    this.#process.kill('SIGKILL');
  }

  #take(report: Report): void {
    if (report.kind === 'loaded') {
      this.#loaded.add(report.module);
      return this.#begin();
    }
    if (report.kind === 'done') this.#end({ output: report.output, cpuMs: report.cpuMs });
    else this.#end({ failure: report.failure, reason: report.reason, cpuMs: report.cpuMs });
  }

  #onGone(how: string): void {
    this.#usable = false;
    const running = this.#running;
    if (running !== undefined) this.#end(this.#outcomeOfLoss(running, how));
    this.#options.onGone();
  }

  #outcomeOfLoss({ startedAtMs }: Running, how: string): Outcome {
    if (startedAtMs === undefined) {
      return { unable: `${this.#killedFor?.reason ?? how}: ${this.#lastWords.trim()}` };
    }
    // Nothing but a lack of memory ends a process that only computes.
    const { failure, reason } = this.#killedFor ?? {
      failure: 'too-large' as const,
      reason: 'it needed more memory than it may use',
    };
    // What it used until then nobody can tell any more; it held the process for so long.
    return { failure, reason, cpuMs: this.#options.time.monotonicMs() - startedAtMs, lost: true };
  }

  #end(outcome: Outcome): void {
    const running = this.#running;
    this.#running = undefined;
    running?.timer?.cancel();
    this.#keepNode(false);
    running?.end(outcome);
  }

  #send(order: Order): void {
    // A process that is gone is heard of by its exit.
    this.#process.send(order, (error) => {
      if (error !== null) this.#process.kill('SIGKILL');
    });
  }

  /** A child in the middle of a task keeps the node running, an idle one does not. */
  #keepNode(running: boolean): void {
    const { channel, stderr } = this.#process;
    if (running) {
      this.#process.ref();
      channel?.ref();
      return;
    }
    this.#process.unref();
    channel?.unref();
    if (stderr instanceof Socket) stderr.unref();
  }
}
