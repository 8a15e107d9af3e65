/** Under which name this process opens rows, and which of the others can close nothing any more. */
import type { Time } from '../../../cluster/index.js';
import { enterProcesses } from './earlier-processes.js';

/** What a member of a cluster knows of the others. */
export interface Peers {
  readonly process: string;
  surelyGone(process: string): boolean;
}

export interface ProcessesParts {
  readonly dataDir: string;
  readonly newId: () => string;
  readonly time: Time;
  /** Undefined for a process that no others watch over. */
  readonly peers: Peers | undefined;
}

export interface Processes {
  readonly processId: string;
  isGone(processId: string): boolean;
  leave(): Promise<void>;
}

/** The cluster answers for its members alone: of others it knows nothing, and takes them for gone. */
const memberPrefix = 'member-';

/** A process that lost its place finishes the calls that it carries, and ends; so long what it carries is its own. */
const finishingMs = 30_000;

export async function openProcesses({ dataDir, newId, time, peers }: ProcessesParts): Promise<Processes> {
  const processId = peers === undefined ? `alone-${newId()}` : memberPrefix + peers.process;
  const earlier = await enterProcesses(dataDir, processId);
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
