import { ClusterError } from '../errors.js';
import {
  apartTooFar,
  commonProtocol,
  rangeText,
  unstatedProtocols,
  type Protocols,
} from '../links/protocol.js';
import type { ClusterConfig } from '../config.js';
import { sleep, type Time } from '../time/time.js';
import type { MemberStore, StoredLease } from './member-store.js';
import type { Member } from './membership.js';

const versionCharsMax = 100;

/** What another process wrote of its version; wrong values count as missing. */
export function readVersion(value: {
  readonly version?: unknown;
  readonly protocols?: unknown;
}): Pick<Member, 'version' | 'protocols'> {
  const { version, protocols } = value;
  return {
    ...(typeof version === 'string' && version !== '' && version.length <= versionCharsMax
      ? { version }
      : {}),
    ...(isRange(protocols) ? { protocols: { min: protocols.min, max: protocols.max } } : {}),
  };
}

function isRange(value: unknown): value is Protocols {
  if (typeof value !== 'object' || value === null) return false;
  const { min, max } = value as Partial<Record<keyof Protocols, unknown>>;
  return Number.isSafeInteger(min) && Number.isSafeInteger(max) && Number(min) > 0;
}

/**
 * Refuses to join processes with which no link is possible: the new process would take slots that nobody could call. A
 * lease says nothing of whether its process lives, so it counts only if it is renewed while this waits.
 */
export async function refuseOtherVersions(
  store: Pick<MemberStore, 'snapshot'>,
  self: Pick<Member, 'version' | 'protocols'>,
  time: Time,
  config: Pick<ClusterConfig, 'leaseMs' | 'leaseMarginMs' | 'leaseRenewMs'>,
): Promise<void> {
  const foreign = async (): Promise<readonly StoredLease[]> => {
    // The start itself reports a store that does not answer.
    const leases = await store.snapshot().then(
      (snapshot) => snapshot.leases,
      () => [],
    );
    return leases.filter(({ member }) => commonProtocol(spoken(member), spoken(self)) === undefined);
  };
  const seen = new Map((await foreign()).map(({ member, renewals }) => [member.process, renewals]));
  const untilMs = time.monotonicMs() + config.leaseMs + config.leaseMarginMs;
  while (seen.size > 0 && time.monotonicMs() < untilMs) {
    await sleep(time, config.leaseRenewMs / 2);
    const renewed = (await foreign()).find(({ member, renewals }) => seen.get(member.process) !== renewals);
    if (renewed === undefined) continue;
    const { member } = renewed;
    throw new ClusterError(
      'protocol_mismatch',
      `${member.process} is running and speaks protocol ${rangeText(spoken(member))}${named(member)}, this process ` +
        `${rangeText(spoken(self))}${named(self)}: ${apartTooFar}`,
      { process: member.process },
    );
  }
}

function spoken({ protocols }: Pick<Member, 'protocols'>): Protocols {
  return protocols ?? unstatedProtocols;
}

function named({ version }: Pick<Member, 'version'>): string {
  return version === undefined ? '' : ` (version ${version})`;
}
