import type { Time } from '../../../cluster/index.js';
import type { Accounts, SecretRandom } from '../identity/index.js';
import type { Mail } from '../../infra/mail/index.js';
import type { Operation } from '../../http/operations/index.js';
import type { Store } from '../../infra/storage/index.js';
import { createAccept } from './accept.js';
import { createInviteBook } from './invites.js';
import { inviteOperations } from './operations.js';

export { cancelAllInvites } from './invites.store.js';

export interface InvitesDependencies {
  readonly store: Store;
  readonly accounts: Accounts;
  readonly mail: Mail;
  readonly time: Time;
  readonly random: SecretRandom;
  /** The base address of join links; known once the node listens. */
  readonly publicUrl: () => string;
}

export function createInvites(dependencies: InvitesDependencies): {
  readonly operations: readonly Operation[];
} {
  const { store, accounts, mail, time, random, publicUrl } = dependencies;
  const nowMs = (): number => time.wallMs();
  const invites = createInviteBook({ store, mail, random, nowMs, publicUrl });
  const accept = createAccept({ store, accounts, nowMs });
  return { operations: inviteOperations(invites, accept) };
}
