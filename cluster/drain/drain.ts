import type { ActorTable } from '../activation/actor-table.js';
import type { ClusterConfig } from '../config.js';
import type { Membership } from '../membership/membership.js';
import { sleep, type Time } from '../time/time.js';

export interface DrainParts {
  readonly config: ClusterConfig;
  readonly time: Time;
  readonly membership: Pick<Membership, 'beginLeave' | 'leave'>;
  readonly table: Pick<ActorTable, 'busy' | 'moveOut' | 'endAll'>;
  /** Ends outside effects that no actor makes, while the lease still protects them. */
  readonly beforeLeave?: (() => Promise<void>) | undefined;
}

export interface DrainResult {
  /** Actors whose turns did not end in time and were aborted. */
  readonly cutOff: number;
  /** The error of `beforeLeave`. The lease was released all the same. */
  readonly failure?: unknown;
}

const checkMs = 20;

/**
 * Leaves without losing work. The node leaves the view but keeps its lease: others take over idle actors, while
 * running turns finish here and their control calls are served. Then the lease is released, and the listener closes
 * after it (protocol 2.4).
 */
export async function drain(parts: DrainParts, signal?: AbortSignal): Promise<DrainResult> {
  const { config, time, membership, table, beforeLeave } = parts;
  const untilMs = time.monotonicMs() + config.drainMs;
  await membership.beginLeave();
  table.moveOut('drain');
  const isAborted = (): boolean => signal?.aborted ?? false;
  while (table.busy > 0 && time.monotonicMs() < untilMs && !isAborted()) {
    await sleep(time, checkMs);
    // Ends actors that were loading, or were loaded again by a late call, once they are idle.
    table.moveOut('drain');
  }
  const cutOff = table.busy;
  table.endAll('drain');
  // A failure to end them must not keep the lease.
  const failure = await beforeLeave?.().catch((error: unknown) => error);
  await membership.leave();
  return failure === undefined ? { cutOff } : { cutOff, failure };
}
