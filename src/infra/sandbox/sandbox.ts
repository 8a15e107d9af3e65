import type { Time } from '../../../cluster/index.js';
import { PlatformError, tooMany } from '../../kernel/errors.js';
import { FairQueue } from '../storage/index.js';
import { Child, type Outcome } from './child.js';
import { CpuBudget } from './cpu-budget.js';
import { SandboxError } from './sandbox-error.js';

/** What a task is given. Documents go as text: that is the cheapest to hand over. */
export type TaskInput = Readonly<Record<string, string | number>>;

/** A kind of task: the function `run` of a module that the child process loads. */
export interface SandboxTask<Input extends TaskInput, Output> {
  readonly module: URL;
  /** Of one task, apart from the time that its input takes to get there. */
  readonly timeoutMs: number;
  /** Never there: ties the types of `run` to the task. */
  readonly run?: (input: Input) => Output;
}

export interface SandboxOptions {
  readonly time: Time;
  readonly report: (attempted: string, error: unknown) => void;
  readonly processes: number;
  /** Of each tenant in a minute. */
  readonly cpuMsPerMinute: number;
  /** Of one child process. */
  readonly residentBytesMax?: number;
}

interface Waiting {
  readonly tenantId: string;
  readonly task: SandboxTask<never, unknown>;
  readonly input: () => TaskInput;
  readonly done: (output: unknown) => void;
  readonly failed: (error: unknown) => void;
}

/** What a node holds of one tenant, and of all. The documents are held by their requests while they wait. */
const waitingOfTenantMax = 256;
const waitingMax = 2_048;
/** Four times what the heap may hold: buffers, code and the program itself come on top. */
const residentBytesDefault = 512 * 1_024 * 1_024;
/** A process that was lost costs about so much to replace. Whose task ended it pays for it. */
const replacementCpuMs = 100;
/** Texts cross the pipe and are read at more than 20 MB in a second, on a slow and busy machine too. */
const inputCharsPerMs = 20_000;

/**
 * Does in child processes what tenants' texts say: a task that takes too long or too much memory ends its process and
 * nothing else. Tenants take turns, each may use a part of the processes at once and so much processor time a minute.
 */
export class Sandbox {
  readonly #options: SandboxOptions;
  readonly #budget: CpuBudget;
  readonly #line = new FairQueue<Waiting>();
  readonly #children = new Set<Child>();
  /** How many tasks of each tenant are under way. */
  readonly #underWay = new Map<string, number>();
  readonly #atOnceOfTenant: number;
  #closed = false;

  constructor(options: SandboxOptions) {
    this.#options = options;
    this.#budget = new CpuBudget(options.cpuMsPerMinute);
    // One tenant alone never has all of them, unless there is only one.
    this.#atOnceOfTenant = Math.max(1, Math.floor(options.processes / 2));
  }

  /**
   * What the task makes of the input, which is made when its turn comes. Throws `SandboxError` for a task that failed,
   * and a `PlatformError` that may be tried again later for one that was not begun.
   */
  run<Input extends TaskInput, Output>(
    tenantId: string,
    task: SandboxTask<Input, Output>,
    input: () => Input,
  ): Promise<Output> {
    return new Promise<unknown>((done, failed) => {
      const refusal = this.#refusal(tenantId);
      if (refusal !== undefined) return failed(refusal);
      this.#line.push(tenantId, { tenantId, task, input, done, failed });
      this.#next();
    }) as Promise<Output>;
  }

  /** Ends the child processes. Resolves when they have gone. */
  async close(): Promise<void> {
    this.#closed = true;
    for (let waiting = this.#line.shift(); waiting !== undefined; waiting = this.#line.shift()) {
      waiting.failed(stopping());
    }
    await Promise.all([...this.#children].map((child) => child.stop()));
  }

  /** Of the child processes that are there. */
  get pids(): readonly number[] {
    return [...this.#children].flatMap(({ pid, usable }) => (pid === undefined || !usable ? [] : [pid]));
  }

  #refusal(tenantId: string): PlatformError | undefined {
    if (this.#closed) return stopping();
    const spent = this.#overBudget(tenantId);
    if (spent !== undefined) return spent;
    if (this.#line.lengthOf(tenantId) >= waitingOfTenantMax) {
      const nowMs = this.#options.time.wallMs();
      const message = `More than ${waitingOfTenantMax} expressions and schemas of this tenant wait to be evaluated.`;
      return tooMany(waitingOfTenantMax, { atMs: nowMs + 1_000, nowMs, message });
    }
    if (this.#line.length < waitingMax) return undefined;
    return new PlatformError('service_unavailable', {
      message: 'Too many expressions and schemas wait to be evaluated on this node.',
      retryAfterSeconds: 1,
    });
  }

  #overBudget(tenantId: string): PlatformError | undefined {
    const { time } = this.#options;
    const waitMs = this.#budget.waitMs(tenantId, time.monotonicMs());
    if (waitMs === 0) return undefined;
    const nowMs = time.wallMs();
    const seconds = this.#budget.limitMs / 1_000;
    const message = `The expressions and schemas of this tenant have used their ${seconds} s of processor time in a minute.`;
    return tooMany(seconds, { atMs: nowMs + waitMs, nowMs, message });
  }

  #next(): void {
    while (!this.#closed && this.#hasRoom()) {
      const waiting = this.#line.shift(
        (tenantId) => (this.#underWay.get(tenantId) ?? 0) < this.#atOnceOfTenant,
      );
      if (waiting === undefined) return;
      // What waited behind slow tasks of its own tenant may find nothing left.
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
