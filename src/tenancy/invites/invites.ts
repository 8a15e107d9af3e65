import { recordAudit } from '../audit/index.js';
import { actorOf, isAbove, type Role, type TenantCaller } from '../../kernel/caller.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import { PlatformError, tooManyRequests } from '../../kernel/errors.js';
import { hashOfToken, isMemberAddress, namesOf, newToken, type SecretRandom } from '../identity/index.js';
import { roleNow } from '../keys/index.js';
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
  async function make(
    scope: TenantScope,
    by: TenantCaller | 'operator',
    email: string,
    role: Role,
  ): Promise<InviteRow> {
    const token = newToken(random);
    const inviterId = idOf(by);
    const invite = await store.inTenant(scope, async (tx) => {
      const now = nowMs();
      if (by !== 'operator') await refuseRoleAboveNow(tx, by, role);
      await closeExpired(tx, new Date(now));
      if (await isMemberAddress(tx, email)) throw conflict('This address belongs to the tenant already.');
      if ((await countSince(tx, new Date(now - dayMs))) >= perDayMax) throw tooManyInvites(now);
      const made = await insertInvite(tx, {
        id: random.uuid(),
        email,
        role,
        tokenHash: hashOfToken(token),
        invitedBy: inviterId,
        createdAt: new Date(now),
        expiresAt: new Date(now + lifetimeMs),
      });
      if (made === null) throw conflict('This address has a pending invitation.');
      // Near the end, because other tenants that invite the address wait for the count.
      if (by !== 'operator') await countMail(tx, email);
      const { tenant, user } = await namesOf(tx, inviterId);
      await mail.queue(tx, {
        tenantId: scope.tenantId,
        to: email,
        ...joinMail({
          tenant,
          inviter: user ?? namelessInviter(inviterId),
          email,
          role,
          token,
          publicUrl: publicUrl(),
          expiresAt: made.expires_at,
        }),
      });
      await recordAudit(tx, {
        tenantId: scope.tenantId,
        actor: by === 'operator' ? by : actorOf(by),
        action: 'invite.created',
        subject: `invite:${made.id}`,
        details: { email, role },
      });
      return made;
    });
    mail.wake();
    return invite;
  }

  /** Throws unless the caller may still handle an invitation with this role. */
  async function refuseRoleAboveNow(tx: TenantTransaction, caller: TenantCaller, role: Role): Promise<void> {
    refuseRoleAbove(role, await roleNow(tx, caller, 'members:write', new Date(nowMs())));
  }

  return {
    async create(caller, email, role) {
      const { scope } = caller;
      refuseRoleAbove(role, caller.role);
      await requireVerified(scope, 'An invitation');
      return make(scope, caller, email, role);
    },

    createByOperator: (scope, email, role) => make(scope, 'operator', email, role),

    list: (scope) => store.inTenant(scope, (tx) => listPending(tx, new Date(nowMs()))),

    cancel: (caller, inviteId) =>
      store.inTenant(caller.scope, async (tx) => {
        const { scope } = caller;
        const now = new Date(nowMs());
        const role = await roleNow(tx, caller, 'members:write', now);
        const invite = await lockPending(tx, inviteId, now);
        if (invite === null)
          throw new PlatformError('not_found', {
            message: 'The invitation was not found, or is no longer pending.',
          });
        refuseRoleAbove(invite.role, role);
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

function idOf(by: TenantCaller | 'operator'): string {
  if (by === 'operator') return operatorAsInviter;
  return by.kind === 'key' ? by.keyId : by.userId;
}

function refuseRoleAbove(role: Role, callersRole: Role): void {
  if (!isAbove(role, callersRole)) return;
  throw new PlatformError('ROLE_ESCALATION_DENIED', {
    message: `The role ${callersRole} cannot handle an invitation with the role ${role}, which is above it.`,
  });
}
