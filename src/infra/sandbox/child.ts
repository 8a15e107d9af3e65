import { type ChildProcess, fork } from 'node:child_process';
import { Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import type { Time, Timer } from '../../../cluster/index.js';
import type { Order, Report, TaskFailure } from './protocol.js';
import { residentBytes } from './resident-memory.js';

export interface ChildOptions {
  readonly time: Time;
  /** For the whole process. The JavaScript heap has its own, lower limit. */
  readonly residentBytesMax: number;
  /** Called when the process has exited, for any reason. */
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
      /** The process has exited. */
      readonly lost?: true;
    }
  /** The process never started the task: a fault of the installation, not of the task. */
  | { readonly unable: string };

interface Running {
  readonly assignment: Assignment;
  readonly end: (outcome: Outcome) => void;
  timer: Timer | undefined;
  startedAtMs: number | undefined;
}

/** Enough for a document of 10 MB in JavaScript's representation. */
const heapMb = 128;
/** A process takes about 50 ms to start and to load a task on an idle machine. */
const startMs = 30_000;
/** How often the memory of a longer task is checked. */
const memoryEveryMs = 25;
const stderrCharsMax = 500;

/** A child process that runs one task at a time. A time-out or a crash ends it. */
export class Child {
  readonly #options: ChildOptions;
  readonly #process: ChildProcess;
  readonly #loaded = new Set<string>();
  readonly #gone: Promise<void>;
  #running: Running | undefined;
  #usable = true;
  /** The reason why this side killed it, if it did. */
  #killedFor: { readonly failure: TaskFailure; readonly reason: string } | undefined;
  #stderrTail = '';

  constructor(options: ChildOptions) {
    this.#options = options;
    this.#process = fork(fileURLToPath(new URL('./child.process.js', import.meta.url)), [], {
      // The environment contains the node's secrets, and the node's own exec arguments do not apply to the child.
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
        // A process that was never started does not emit `exit`.
        if (this.#process.pid !== undefined) return;
        this.#onGone(error.message);
        resolve();
      });
    });
    this.#process.on('message', (report: Report) => this.#take(report));
    this.#process.stderr?.on('data', (chunk: Buffer) => {
      this.#stderrTail = (this.#stderrTail + chunk.toString('utf8')).slice(-stderrCharsMax);
    });
    this.#keepNode(false);
  }

  get pid(): number | undefined {
    return this.#process.pid;
  }

  /** False once it has exited or is being killed. */
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

  /** Resolves when the process has exited. */
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

  /** Checks the memory at intervals until the time is over. */
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
      // After a stall, the event loop fires timers before it reads messages: the child may have answered in time.
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
      return { unable: `${this.#killedFor?.reason ?? how}: ${this.#stderrTail.trim()}` };
    }
    // A process that only computes can end by itself only for lack of memory.
    const { failure, reason } = this.#killedFor ?? {
      failure: 'too-large' as const,
      reason: 'it needed more memory than it may use',
    };
    // Its CPU time is unknown; charge the time for which it held the process.
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
    // If the process is gone, its `exit` event reports that.
    this.#process.send(order, (error) => {
      if (error !== null) this.#process.kill('SIGKILL');
    });
  }

  /** A child with a task keeps the node running, an idle one does not. */
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
