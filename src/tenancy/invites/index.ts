import type { Accounts } from '../identity/index.js';
import type { Mail } from '../../infra/mail/index.js';
import type { TenantTransaction } from '../../infra/storage/index.js';
import type { Operation } from '../../http/operations/index.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { Platform } from '../../infra/platform/index.js';
import { createAccept } from './accept.js';
import { createInviteBook, type Invites } from './invites.js';
import { inviteOperations } from './operations.js';
import { createPreview } from './preview.js';

export { cancelAllInvites, hasPendingInvite } from './invites.store.js';

export type { Invites } from './invites.js';

export interface InvitesOptions {
  readonly accounts: Accounts;
  readonly mail: Mail;
  /** The base address of join links; known once the node listens. */
  readonly publicUrl: () => string;
  /** Throws `email_unverified` if the tenant may not send mail. */
  readonly requireVerified: (scope: TenantScope, work: string) => Promise<void>;
  /** Counts a mail to the address; throws the refusal if the address has got too many today. */
  readonly countMail: (tx: TenantTransaction, email: string) => Promise<void>;
}

export function createInvites(
  platform: Pick<Platform, 'store' | 'time' | 'ids' | 'random'>,
  { accounts, mail, publicUrl, requireVerified, countMail }: InvitesOptions,
): {
  readonly operations: readonly Operation[];
  /** For commands; callers use the operations. */
  readonly book: Pick<Invites, 'createByOperator'>;
} {
  const { store, time, ids } = platform;
  const random = { uuid: () => ids.uuid(), bytes: (count: number) => platform.random.bytes(count) };
  const nowMs = (): number => time.wallMs();
  const invites = createInviteBook({
    store,
    mail,
    random,
    nowMs,
    publicUrl,
    requireVerified,
    countMail,
  });
  const accept = createAccept({ store, accounts, nowMs });
  const preview = createPreview({ store, accounts, nowMs });
  return { operations: inviteOperations(invites, accept, preview), book: invites };
}
