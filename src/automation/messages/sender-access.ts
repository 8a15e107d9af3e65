import { type Ready, whenReady } from '../../kernel/ready.js';
import { comparableIdentity, normalPhone } from '../../conversations/invocation/index.js';
import type { SenderAccess } from '../triggers/config/webhook-config.js';

/** A member of the tenant's team, as found in the directory. */
export interface Member {
  readonly userId: string;
}

export type FindMember = (column: SenderAccess['match_column'], value: string) => Promise<Member | undefined>;

export interface SenderVerdict {
  readonly allowed: boolean;
  /** Recorded with the execution if the trigger resolves users. */
  readonly userId: string | undefined;
}

/**
 * Whether the sender may reach the agent. Checked before any model is called, again before a message that waited is run,
 * and before each delivery.
 */
export function checkSender(
  access: SenderAccess,
  consumerKey: string | undefined,
  findMember: FindMember,
): Ready<SenderVerdict> {
  return whenReady(memberOf(access, consumerKey, findMember), (member) =>
    verdictOn(access, consumerKey, member),
  );
}

function verdictOn(
  access: SenderAccess,
  consumerKey: string | undefined,
  member: Member | undefined,
): SenderVerdict {
  const userId = access.resolve_user ? member?.userId : undefined;
  switch (access.mode) {
    case 'any':
      return { allowed: true, userId };
    case 'members':
      return { allowed: member !== undefined, userId };
    case 'whitelist': {
      const allowed = consumerKey !== undefined && listedIn(access).has(comparableIdentity(consumerKey));
      return { allowed, userId };
    }
  }
}

/** By the configuration that is in force: a list may have ten thousand entries, and each message asks several times. */
const lists = new WeakMap<SenderAccess, ReadonlySet<string>>();

function listedIn(access: SenderAccess): ReadonlySet<string> {
  let listed = lists.get(access);
  if (listed === undefined) lists.set(access, (listed = new Set(access.identifiers.map(comparableIdentity))));
  return listed;
}

function memberOf(
  access: SenderAccess,
  consumerKey: string | undefined,
  findMember: FindMember,
): Ready<Member | undefined> {
  if (consumerKey === undefined || (access.mode !== 'members' && !access.resolve_user)) return undefined;
  const { match_column: column } = access;
  const value =
    column === 'phone'
      ? normalPhone(consumerKey)
      : column === 'email'
        ? consumerKey.trim().toLowerCase()
        : consumerKey;
  return findMember(column, value);
}
