import type { Time } from '../../../cluster/index.js';
import { PlatformError, tooManyRequests } from '../../kernel/errors.js';
import { FairQueue } from '../../kernel/fair-queue.js';
import { Child, type Outcome } from './child.js';
import { CpuBudget } from './cpu-budget.js';
import { SandboxError } from './sandbox-error.js';

/** The input of a task. Documents are passed as text, the cheapest form. */
export type TaskInput = Readonly<Record<string, string | number>>;

/** A kind of task: the function `run` of a module that the child process loads. */
export interface SandboxTask<Input extends TaskInput, Output> {
  readonly module: URL;
  /** Per task, without the time to transfer its input. */
  readonly timeoutMs: number;
  /** Never set: ties the types of `run` to the task. */
  readonly run?: (input: Input) => Output;
}

export interface SandboxOptions {
  readonly time: Time;
  readonly report: (attempted: string, error: unknown) => void;
  readonly processes: number;
  /** Per tenant and minute. */
  readonly cpuMsPerMinute: number;
  /** Per child process. */
  readonly residentBytesMax?: number;
}

interface Waiting {
  readonly tenantId: string;
  readonly task: SandboxTask<never, unknown>;
  readonly input: () => TaskInput;
  readonly done: (output: unknown) => void;
  readonly failed: (error: unknown) => void;
}

/** Limits of waiting tasks per tenant and per node. Waiting requests keep their documents in memory. */
const waitingOfTenantMax = 256;
const waitingMax = 2_048;
/** Four times the heap limit: buffers, code and the program itself come on top. */
const residentBytesDefault = 512 * 1_024 * 1_024;
/** The approximate cost of replacing a lost process, charged to the tenant whose task ended it. */
const replacementCpuMs = 100;
/** Texts are transferred and parsed at more than 20 MB per second, even on a slow and busy machine. */
const inputCharsPerMs = 20_000;

/**
 * Evaluates text of tenants in child processes: a task that takes too much time or memory ends only its process. Tenants
 * take turns; each may use part of the processes at once, and a limited CPU time per minute.
 */
export class Sandbox {
  readonly #options: SandboxOptions;
  readonly #budget: CpuBudget;
  readonly #queue = new FairQueue<Waiting>();
  readonly #children = new Set<Child>();
  /** The number of running tasks per tenant. */
  readonly #underWay = new Map<string, number>();
  readonly #atOnceOfTenant: number;
  #closed = false;

  constructor(options: SandboxOptions) {
    this.#options = options;
    this.#budget = new CpuBudget(options.cpuMsPerMinute);
    // One tenant never occupies all processes, unless there is only one.
    this.#atOnceOfTenant = Math.max(1, Math.floor(options.processes / 2));
  }

  /**
   * Runs the task; `input` is called when its turn comes. Throws `SandboxError` if the task fails, and a retryable
   * `PlatformError` if it was not started.
   */
  run<Input extends TaskInput, Output>(
    tenantId: string,
    task: SandboxTask<Input, Output>,
    input: () => Input,
  ): Promise<Output> {
    return new Promise<unknown>((done, failed) => {
      const refusal = this.#refusal(tenantId);
      if (refusal !== undefined) return failed(refusal);
      this.#queue.push(tenantId, { tenantId, task, input, done, failed });
      this.#next();
    }) as Promise<Output>;
  }

  /** Kills the child processes and resolves when they have exited. */
  async close(): Promise<void> {
    this.#closed = true;
    for (let waiting = this.#queue.shift(); waiting !== undefined; waiting = this.#queue.shift()) {
      waiting.failed(stopping());
    }
    await Promise.all([...this.#children].map((child) => child.stop()));
  }

  /** Of the usable child processes. */
  get pids(): readonly number[] {
    return [...this.#children].flatMap(({ pid, usable }) => (pid === undefined || !usable ? [] : [pid]));
  }

  #refusal(tenantId: string): PlatformError | undefined {
    if (this.#closed) return stopping();
    const spent = this.#overBudget(tenantId);
    if (spent !== undefined) return spent;
    if (this.#queue.lengthOf(tenantId) >= waitingOfTenantMax) {
      const nowMs = this.#options.time.wallMs();
      const message = `More than ${waitingOfTenantMax} expressions and schemas of this tenant are waiting to be evaluated. Retry in a few seconds.`;
      return tooManyRequests(waitingOfTenantMax, { atMs: nowMs + 1_000, nowMs, message });
    }
    if (this.#queue.length < waitingMax) return undefined;
    return new PlatformError('service_unavailable', {
      message:
        'Too many expressions and schemas are waiting to be evaluated on this node. Retry in a few seconds.',
      retryAfterSeconds: 1,
    });
  }

  #overBudget(tenantId: string): PlatformError | undefined {
    const { time } = this.#options;
    const waitMs = this.#budget.waitMs(tenantId, time.monotonicMs());
    if (waitMs === 0) return undefined;
    const nowMs = time.wallMs();
    const seconds = this.#budget.limitMs / 1_000;
    const message = `The expressions and schemas of this tenant have used their ${seconds} s of CPU time per minute.`;
    return tooManyRequests(seconds, { atMs: nowMs + waitMs, nowMs, message });
  }

  #next(): void {
    while (!this.#closed && this.#hasRoom()) {
      const waiting = this.#queue.shift(
        (tenantId) => (this.#underWay.get(tenantId) ?? 0) < this.#atOnceOfTenant,
      );
      if (waiting === undefined) return;
      // Slow tasks of the same tenant may have used up the budget meanwhile.
      const spent = this.#overBudget(waiting.tenantId);
      if (spent === undefined) void this.#do(waiting);
      else waiting.failed(spent);
    }
  }

  #hasRoom(): boolean {
    return this.#children.size < this.#options.processes || this.#idleChild() !== undefined;
  }

  #idleChild(): Child | undefined {
    for (const child of this.#children) if (child.idle) return child;
    return undefined;
  }

  #newChild(): Child {
    const { time, residentBytesMax = residentBytesDefault } = this.#options;
    const child: Child = new Child({
      time,
      residentBytesMax,
      onGone: () => {
        this.#children.delete(child);
        this.#next();
      },
    });
    this.#children.add(child);
    return child;
  }

  async #do({ tenantId, task, input, done, failed }: Waiting): Promise<void> {
    this.#underWay.set(tenantId, (this.#underWay.get(tenantId) ?? 0) + 1);
    try {
      const given = input();
      const timeoutMs = task.timeoutMs + Math.ceil(charsOf(given) / inputCharsPerMs);
      const child = this.#idleChild() ?? this.#newChild();
      done(this.#outputOf(tenantId, await child.run({ module: task.module.href, input: given, timeoutMs })));
    } catch (error) {
      failed(error);
    } finally {
      const others = (this.#underWay.get(tenantId) ?? 1) - 1;
      if (others > 0) this.#underWay.set(tenantId, others);
      else this.#underWay.delete(tenantId);
      this.#next();
    }
  }

  #outputOf(tenantId: string, outcome: Outcome): unknown {
    if (this.#closed) throw stopping();
    const { time, report } = this.#options;
    if ('unable' in outcome) {
      report('starting a process for expressions and schemas', new Error(outcome.unable));
      throw new PlatformError('service_unavailable', { retryAfterSeconds: 1 });
    }
    const { cpuMs } = outcome;
    this.#budget.charge(tenantId, 'lost' in outcome ? cpuMs + replacementCpuMs : cpuMs, time.monotonicMs());
    if ('output' in outcome) return outcome.output;
    throw new SandboxError(outcome.failure, outcome.reason);
  }
}

function charsOf(input: TaskInput): number {
  return Object.values(input).reduce<number>(
    (sum, value) => sum + (typeof value === 'string' ? value.length : 0),
    0,
  );
}

function stopping(): PlatformError {
  return new PlatformError('service_unavailable', {
    message: 'The node is stopping.',
    retryAfterSeconds: 1,
  });
}
