import type {
  Member as MemberMessage,
  Probe,
  ProbeAnswer as ProbeAnswerMessage,
} from '../../generated/troupe/cluster/v1/link.js';
import { ClusterError } from '../errors.js';
import { processId, viewNumber, type ProcessId } from '../ids/ids.js';
import type { Member, Role } from '../membership/membership.js';
import type { ProbeReply, ProbeRequest } from '../membership/peer-probe.js';
import { readVersion } from '../membership/stated-version.js';

/** Converts between membership types and wire messages. */
export function probeOf(id: number, request: ProbeRequest): Probe {
  return {
    id,
    view: { number: request.view.number, hash: request.view.hash },
    confirm: request.confirm,
    exited: request.exited ?? '',
  };
}

/** `from` is the peer that proved itself on the stream. */
export function requestOf(from: string, message: Probe): ProbeRequest {
  if (message.view === undefined) throw new ClusterError('bad_message', 'a probe lacks its view');
  return {
    from: processId(from),
    view: { number: viewNumber(message.view.number), hash: message.view.hash },
    confirm: message.confirm,
    exited: message.exited === '' ? undefined : processId(message.exited),
  };
}

export function answerOf(id: number, reply: ProbeReply): ProbeAnswerMessage {
  return {
    id,
    confirmed: reply.confirmed,
    reachesMemberStore: reply.reachesMemberStore,
    view: {
      number: reply.view.number,
      hash: reply.view.hash,
      members: reply.view.members.map(memberMessage),
    },
  };
}

export function replyOf(from: ProcessId, message: ProbeAnswerMessage): ProbeReply {
  if (message.view === undefined)
    throw new ClusterError('bad_message', 'the answer to a probe lacks its view');
  return {
    from,
    confirmed: message.confirmed,
    reachesMemberStore: message.reachesMemberStore,
    view: {
      number: viewNumber(message.view.number),
      hash: message.view.hash,
      members: message.view.members.map(memberFrom),
    },
  };
}

function memberMessage({ roles, version, protocols, ...member }: Member): MemberMessage {
  return {
    ...member,
    roles: [...roles],
    version: version ?? '',
    protocolMin: protocols?.min ?? 0,
    protocolMax: protocols?.max ?? 0,
  };
}

function memberFrom(message: MemberMessage): Member {
  return {
    process: processId(message.process),
    address: message.address,
    weight: message.weight,
    roles: message.roles.filter((role): role is Role => role === 'edge' || role === 'worker'),
    host: message.host,
    pid: message.pid,
    ...readVersion({
      version: message.version,
      protocols: { min: message.protocolMin, max: message.protocolMax },
    }),
  };
}
