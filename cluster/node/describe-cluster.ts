import { ClusterError, toClusterError } from '../errors.js';
import type { ProcessId } from '../ids/ids.js';
import type { Links } from '../links/links.js';
import type { Member } from '../membership/membership.js';
import type { Time } from '../time/time.js';
import { askProcess } from './ask-process.js';
import type { NodeDescription } from './describe.js';

/** The description of each member of the view. An edge-only process is included only if it asks itself. */
export interface ClusterDescription {
  readonly view: { readonly number: number; readonly hash: string };
  readonly nodes: readonly DescribedMember[];
}

export type DescribedMember =
  | { readonly process: ProcessId; readonly description: NodeDescription }
  /** The member did not answer in time, or could not be reached. */
  | { readonly process: ProcessId; readonly error: ClusterError };

export async function describeCluster(
  own: NodeDescription,
  members: readonly Member[],
  links: Links,
  time: Time,
  deadlineMs: number,
): Promise<ClusterDescription> {
  const others = members.filter(({ process }) => process !== own.process);
  const answers = await Promise.all(others.map((member) => askMember(member, links, time, deadlineMs)));
  return { view: own.view, nodes: [{ process: own.process, description: own }, ...answers] };
}

async function askMember(
  member: Member,
  links: Links,
  time: Time,
  deadlineMs: number,
): Promise<DescribedMember> {
  const { process } = member;
  try {
    return { process, description: parse(await askProcess(member, 'describe', links, time, deadlineMs)) };
  } catch (error) {
    return { process, error: toClusterError(error, 'bad_message') };
  }
}

export function descriptionBytes(description: NodeDescription): Uint8Array {
  return Buffer.from(JSON.stringify(description));
}

/** A peer of another version may report other fields; only the basic shape is checked. */
function parse(body: Uint8Array): NodeDescription {
  const value: unknown = JSON.parse(Buffer.from(body).toString('utf8'));
  if (!isDescription(value))
    throw new ClusterError('bad_message', 'the answer of the peer is not a node description');
  return value;
}

function isDescription(value: unknown): value is NodeDescription {
  return typeof value === 'object' && value !== null && 'process' in value && 'counts' in value;
}
