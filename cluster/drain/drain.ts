import type { ActorTable } from '../activation/actor-table.js';
import type { ClusterConfig } from '../config.js';
import type { Membership } from '../membership/membership.js';
import { sleep, type Time } from '../time/time.js';

export interface DrainParts {
  readonly config: ClusterConfig;
  readonly time: Time;
  readonly membership: Membership;
  readonly table: ActorTable;
}

export interface DrainResult {
  /** Actors whose turns did not end in time and were cut off. */
  readonly cutOff: number;
}

const lookMs = 20;

/**
 * Leaving without losing anything: the node leaves the view but keeps its lease, so that others take over
 * what is idle while running turns finish where they are and their control lanes are served. Only then is
 * the lease given back, and the listener closed after it (protocol 2.4).
 */
export async function drain(parts: DrainParts, signal?: AbortSignal): Promise<DrainResult> {
  const { config, time, membership, table } = parts;
  const untilMs = time.monotonicMs() + config.drainMs;
  await membership.beginLeave();
  table.moveOut('drain');
  const isCalledOff = (): boolean => signal?.aborted ?? false;
  while (table.busy > 0 && time.monotonicMs() < untilMs && !isCalledOff()) {
    await sleep(time, lookMs);
    // An actor that was loading, or that a late call woke, is put out as soon as it is idle.
    table.moveOut('drain');
  }
  const cutOff = table.busy;
  table.endAll('drain');
  await membership.leave();
  return { cutOff };
}
