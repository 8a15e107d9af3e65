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
  /** The id of a process outside of a cluster; default: a random one. */
  readonly process?: string;
  /** Undefined for a process outside of a cluster. */
  readonly peers: Peers | undefined;
}

export interface Processes {
  readonly processId: string;
  /** Whether the process has stopped acting for its actors: it starts no outside effect that a claim protects. */
  isSurelyGone(processId: string): boolean;
  /** Whether the process can no longer close its rows either. */
  isGone(processId: string): boolean;
  leave(): Promise<void>;
}

/** The cluster reports on its members only. It counts any other process as gone. */
const memberPrefix = 'member-';

/** The name under which a process opens and claims rows. */
export function processName(id: string, isMember: boolean): string {
  return `${isMember ? memberPrefix : 'alone-'}${id}`;
}

/** A process that lost its lease finishes its calls and ends; for this time it may still close its rows. */
const finishingMs = 30_000;

/** Whether a member can no longer close its rows: it has been surely gone for as long as it may finish its calls. */
export function goneMembers(
  peers: Pick<Peers, 'surelyGone'> | undefined,
  time: Pick<Platform['time'], 'monotonicMs'>,
): (member: string) => boolean {
  const goneAtMs = new Map<string, number>();
  return (member) => {
    if (peers?.surelyGone(member) !== true) {
      goneAtMs.delete(member);
      return false;
    }
    const sinceMs = goneAtMs.get(member);
    if (sinceMs === undefined) goneAtMs.set(member, time.monotonicMs());
    return sinceMs !== undefined && time.monotonicMs() - sinceMs >= finishingMs;
  };
}

export async function openProcesses(
  { time, ids }: Pick<Platform, 'time' | 'ids'>,
  { dataDir, process, peers }: ProcessesOptions,
): Promise<Processes> {
  const processId =
    peers === undefined ? processName(process ?? ids.uuid(), false) : processName(peers.process, true);
  const earlier = await enterProcesses(dataDir, processId, time);
  const isGoneMember = goneMembers(peers, time);
  return {
    processId,
    isSurelyGone: (id) =>
      earlier.isGone(id) ||
      (id.startsWith(memberPrefix) && peers?.surelyGone(id.slice(memberPrefix.length)) === true),
    isGone: (id) =>
      earlier.isGone(id) || (id.startsWith(memberPrefix) && isGoneMember(id.slice(memberPrefix.length))),
    leave: () => earlier.leave(),
  };
}
