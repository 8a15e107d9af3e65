import type { ExecutionContext } from 'ava';
import { requestId } from '../../cluster/ids/ids.js';
import type { ProcessCluster } from './process-cluster.js';

export interface LoadOutcome {
  /** Additions that were acknowledged, by key. */
  readonly acknowledged: ReadonlyMap<string, number>;
  readonly failed: readonly string[];
  readonly slowestMs: number;
}

/** Callers that make additions in turn, each with its own request id, until stopped. */
export class Load {
  readonly #cluster: ProcessCluster;
  readonly #acknowledged = new Map<string, number>();
  readonly #failed: string[] = [];
  readonly #callers: Promise<void>[];
  #slowestMs = 0;
  #isStopped = false;

  constructor(t: ExecutionContext, cluster: ProcessCluster, keys: readonly string[], deadlineMs: number) {
    this.#cluster = cluster;
    // A test that fails must not leave its callers behind.
    t.teardown(async () => void (await this.stop()));
    this.#callers = keys.map((key) => this.#call(key, deadlineMs));
  }

  async stop(): Promise<LoadOutcome> {
    this.#isStopped = true;
    await Promise.all(this.#callers);
    return { acknowledged: this.#acknowledged, failed: this.#failed, slowestMs: this.#slowestMs };
  }

  get done(): number {
    let sum = 0;
    for (const count of this.#acknowledged.values()) sum += count;
    return sum;
  }

  async #call(key: string, deadlineMs: number): Promise<void> {
    const counter = this.#cluster.counter(key);
    for (let number = 0; !this.#isStopped; number += 1) {
      const startedMs = performance.now();
      try {
        await counter.add({ amount: 1 }, { deadlineMs, requestId: requestId(`${key}-${number}`) });
        this.#acknowledged.set(key, (this.#acknowledged.get(key) ?? 0) + 1);
      } catch (error) {
        this.#failed.push(`${key}: ${error instanceof Error ? error.message : String(error)}`);
      }
      this.#slowestMs = Math.max(this.#slowestMs, performance.now() - startedMs);
    }
  }
}

/** The count is the acknowledged calls, plus at most those with an unknown outcome. */
export async function lostAndUnasked(
  cluster: ProcessCluster,
  outcome: LoadOutcome,
): Promise<{ lost: number; unasked: number }> {
  let lost = 0;
  let unasked = 0;
  for (const [key, acknowledged] of outcome.acknowledged) {
    const { sum } = await cluster.counter(key).read({}, { deadlineMs: 30_000 });
    const unknown = outcome.failed.filter((failure) => failure.startsWith(`${key}:`)).length;
    lost += Math.max(0, acknowledged - sum);
    unasked += Math.max(0, sum - acknowledged - unknown);
  }
  return { lost, unasked };
}
