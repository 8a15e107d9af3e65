import type { Accounts } from '../identity/index.js';
import type { Mail } from '../../infra/mail/index.js';
import type { Operation } from '../../http/operations/index.js';
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
}

export function createInvites(
  platform: Pick<Platform, 'store' | 'time' | 'ids' | 'random'>,
  { accounts, mail, publicUrl }: InvitesOptions,
): {
  readonly operations: readonly Operation[];
  /** For commands; callers use the operations. */
  readonly book: Pick<Invites, 'createByOperator'>;
} {
  const { store, time, ids } = platform;
  const random = { uuid: () => ids.uuid(), bytes: (count: number) => platform.random.bytes(count) };
  const nowMs = (): number => time.wallMs();
  const invites = createInviteBook({ store, mail, random, nowMs, publicUrl });
  const accept = createAccept({ store, accounts, nowMs });
  const preview = createPreview({ store, accounts, nowMs });
  return { operations: inviteOperations(invites, accept, preview), book: invites };
}
