import { ClusterError, type ClusterNode } from '../../../cluster/index.js';
import { PlatformError } from '../../kernel/errors.js';

/** The rules are at `Actors.drain`. */
export async function drainNode(node: ClusterNode | undefined, process: string): Promise<void> {
  const members = node?.ring.view.members ?? [];
  const member = members.find((one) => one.process === process);
  if (node === undefined || member === undefined) {
    throw new PlatformError('not_found', {
      message: `No node with slots has the process id ${process}. It may have left already.`,
    });
  }
  if (members.length === 1) {
    throw new PlatformError('conflict', {
      message: 'This is the only node with slots. Start another one before you drain it.',
    });
  }
  try {
    await node.askToLeave(member.process);
  } catch (cause) {
    throw refusalOf(process, cause);
  }
}

function refusalOf(process: string, cause: unknown): unknown {
  if (!(cause instanceof ClusterError)) return cause;
  if (cause.tag === 'unknown_method' || cause.tag === 'unknown_kind') {
    return new PlatformError('conflict', {
      message: `${process} cannot be drained from here: it runs an earlier version, or inside of another program. Stop that program instead.`,
      cause,
    });
  }
  return new PlatformError('service_unavailable', {
    message: `${process} did not answer. If its process is dead, the other nodes take over by themselves.`,
    retryAfterSeconds: 5,
    cause,
  });
}
