import { recordAudit } from '../audit/index.js';
import {
  actorOf,
  isAbove,
  type Role,
  type TenantCaller,
  type TenantUserCaller,
} from '../../kernel/caller.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import { PlatformError, tooManyRequests } from '../../kernel/errors.js';
import {
  hashOfToken,
  isMemberAddress,
  isStillSignedIn,
  namesOf,
  newToken,
  type SecretRandom,
} from '../identity/index.js';
import type { Mail } from '../../infra/mail/index.js';
import type { Store, TenantTransaction } from '../../infra/storage/index.js';
import { joinMail } from './join-mail.js';
import {
  cancelInvite,
  closeExpired,
  countSince,
  insertInvite,
  type InviteRow,
  listPending,
  lockPending,
} from './invites.store.js';

const lifetimeMs = 7 * 86_400_000;
/** Bounds the mails that a tenant can send to addresses of its choice. */
const perDayMax = 1_000;
const dayMs = 86_400_000;

/** The inviter of an invitation that an API key sent. */
export const keyAsInviter = 'an API key of the tenant';

/** The id of the operator as inviter, which no user and no key has. */
export const operatorAsInviter = '00000000-0000-0000-0000-000000000000';

/** The name to show for an inviter without an account. */
export function namelessInviter(id: string): string {
  return id === operatorAsInviter ? 'the operator of the installation' : keyAsInviter;
}

interface Inviter {
  readonly id: string;
  readonly actor: string;
  /** Undefined for an inviter whose sign-in need not hold until the end. */
  readonly signedIn?: TenantUserCaller | undefined;
}

export interface Invites {
  create(caller: TenantCaller, email: string, role: Role): Promise<InviteRow>;
  /** Any role; the operator stands above all of them. */
  createByOperator(scope: TenantScope, email: string, role: Role): Promise<InviteRow>;
  list(scope: TenantScope): Promise<readonly InviteRow[]>;
  cancel(caller: TenantCaller, inviteId: string): Promise<void>;
}

export function createInviteBook(dependencies: {
  readonly store: Store;
  readonly mail: Mail;
  readonly random: SecretRandom;
  readonly nowMs: () => number;
  readonly publicUrl: () => string;
  readonly requireVerified: (scope: TenantScope, work: string) => Promise<void>;
  readonly countMail: (tx: TenantTransaction, email: string) => Promise<void>;
}): Invites {
  const { store, mail, random, nowMs, publicUrl, requireVerified, countMail } = dependencies;
  async function make(scope: TenantScope, inviter: Inviter, email: string, role: Role): Promise<InviteRow> {
    const token = newToken(random);
    const invite = await store.inTenant(scope, async (tx) => {
      const now = nowMs();
      await closeExpired(tx, new Date(now));
      if (await isMemberAddress(tx, email)) throw conflict('This address belongs to the tenant already.');
      if ((await countSince(tx, new Date(now - dayMs))) >= perDayMax) throw tooManyInvites(now);
      const made = await insertInvite(tx, {
        id: random.uuid(),
        email,
        role,
        tokenHash: hashOfToken(token),
        invitedBy: inviter.id,
        createdAt: new Date(now),
        expiresAt: new Date(now + lifetimeMs),
      });
      if (made === null) throw conflict('This address has a pending invitation.');
      if (inviter.signedIn !== undefined && !(await isStillSignedIn(tx, inviter.signedIn)))
        throw new PlatformError('invalid_token');
      // Near the end, because other tenants that invite the address wait for the count.
      if (inviter.id !== operatorAsInviter) await countMail(tx, email);
      const { tenant, user } = await namesOf(tx, inviter.id);
      await mail.queue(tx, {
        tenantId: scope.tenantId,
        to: email,
        ...joinMail({
          tenant,
          inviter: user ?? namelessInviter(inviter.id),
          email,
          role,
          token,
          publicUrl: publicUrl(),
          expiresAt: made.expires_at,
        }),
      });
      await recordAudit(tx, {
        tenantId: scope.tenantId,
        actor: inviter.actor,
        action: 'invite.created',
        subject: `invite:${made.id}`,
        details: { email, role },
      });
      return made;
    });
    mail.wake();
    return invite;
  }

  return {
    async create(caller, email, role) {
      const { scope } = caller;
      if (isAbove(role, caller.role)) throw aboveCaller(role, caller.role);
      await requireVerified(scope, 'An invitation');
      const actor = actorOf(caller);
      const inviter =
        caller.kind === 'key' ? { id: caller.keyId, actor } : { id: caller.userId, actor, signedIn: caller };
      return make(scope, inviter, email, role);
    },

    createByOperator: (scope, email, role) =>
      make(scope, { id: operatorAsInviter, actor: 'operator' }, email, role),

    list: (scope) => store.inTenant(scope, (tx) => listPending(tx, new Date(nowMs()))),

    cancel: (caller, inviteId) =>
      store.inTenant(caller.scope, async (tx) => {
        const { scope, role } = caller;
        const now = new Date(nowMs());
        const invite = await lockPending(tx, inviteId, now);
        if (invite === null)
          throw new PlatformError('not_found', {
            message: 'The invitation was not found, or is no longer pending.',
          });
        if (isAbove(invite.role, role)) throw aboveCaller(invite.role, role);
        await cancelInvite(tx, inviteId, now);
        await recordAudit(tx, {
          tenantId: scope.tenantId,
          actor: actorOf(caller),
          action: 'invite.cancelled',
          subject: `invite:${inviteId}`,
          details: { email: invite.email, role: invite.role },
        });
      }),
  };
}

function conflict(message: string): PlatformError {
  return new PlatformError('conflict', { message });
}

function tooManyInvites(now: number): PlatformError {
  const message = `A tenant may send ${perDayMax} invitations a day. Try again after the seconds of Retry-After.`;
  return tooManyRequests(perDayMax, { atMs: now + 3_600_000, nowMs: now, message });
}

function aboveCaller(role: Role, callersRole: Role): PlatformError {
  return new PlatformError('ROLE_ESCALATION_DENIED', {
    message: `The role ${callersRole} cannot handle an invitation with the role ${role}, which is above it.`,
  });
}
