/** The id under which this process opens rows, and the ids of processes that can no longer close theirs. */
import type { Platform } from '../../infra/platform/index.js';
import { enterProcesses } from './earlier-processes.js';

/** A cluster member's knowledge of the other members. */
export interface Peers {
  readonly process: string;
  surelyGone(process: string): boolean;
}

export interface ProcessesOptions {
  readonly dataDir: string;
  /** Undefined for a process outside of a cluster. */
  readonly peers: Peers | undefined;
}

export interface Processes {
  readonly processId: string;
  isGone(processId: string): boolean;
  leave(): Promise<void>;
}

/** The cluster reports on its members only. It counts any other process as gone. */
const memberPrefix = 'member-';

/** A process that lost its lease finishes its calls and ends; for this time it may still close its rows. */
const finishingMs = 30_000;

export async function openProcesses(
  { time, ids }: Pick<Platform, 'time' | 'ids'>,
  { dataDir, peers }: ProcessesOptions,
): Promise<Processes> {
  const processId = peers === undefined ? `alone-${ids.uuid()}` : memberPrefix + peers.process;
  const earlier = await enterProcesses(dataDir, processId, time);
  const goneAtMs = new Map<string, number>();

  const isGoneMember = (member: string): boolean => {
    if (peers?.surelyGone(member) !== true) {
      goneAtMs.delete(member);
      return false;
    }
    const sinceMs = goneAtMs.get(member);
    if (sinceMs === undefined) goneAtMs.set(member, time.monotonicMs());
    return sinceMs !== undefined && time.monotonicMs() - sinceMs >= finishingMs;
  };
  return {
    processId,
    isGone: (id) =>
      earlier.isGone(id) || (id.startsWith(memberPrefix) && isGoneMember(id.slice(memberPrefix.length))),
    leave: () => earlier.leave(),
  };
}
