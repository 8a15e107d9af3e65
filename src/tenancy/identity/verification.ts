import { PlatformError, tooManyRequests } from '../../kernel/errors.js';
import type { Mail } from '../../infra/mail/index.js';
import type { ChangeFeed, DirectoryTransaction, Store } from '../../infra/storage/index.js';
import { addressProved, auditAccount } from './account-audit.js';
import { verifyMail } from './account-mails.js';
import {
  countRequested,
  dropAccountTokens,
  findAccountToken,
  insertAccountToken,
  sweepAccountTokens,
  takeAccountToken,
} from './account-tokens.store.js';
import { announceMemberships, settled } from './changes.js';
import { hashOfToken, newAccountToken, type SecretRandom } from './secrets.js';
import { findUser, lockUserById, markEmailVerified, type UserRow } from './users.store.js';

const lifetimeMs = 24 * 3_600_000;
const perHourMax = 5;
const hourMs = 3_600_000;
const sweptRowsMax = 10_000;

/** Proofs that the owner of an account reads the mail of its address. */
export interface Verification {
  /** Part of the transaction that makes the account. Call `wake` after it. */
  sendFirst(tx: DirectoryTransaction, user: UserRow): Promise<void>;
  wake(): void;
  resend(userId: string): Promise<'sent' | 'verified'>;
  /** Throws `not_found` for a token that is used, expired or unknown. */
  verify(token: string): Promise<void>;
  /** The address that the token proves; undefined if it proves none. */
  addressOf(token: string): Promise<string | undefined>;
  /** Removes expired tokens, also those of passwords. */
  sweep(): Promise<void>;
}

export function createVerification(dependencies: {
  readonly store: Store;
  readonly changes: ChangeFeed;
  readonly mail: Pick<Mail, 'queue' | 'wake'>;
  readonly publicUrl: () => string;
  readonly random: SecretRandom;
  readonly nowMs: () => number;
}): Verification {
  const { store, changes, mail, publicUrl, random, nowMs } = dependencies;

  async function send(tx: DirectoryTransaction, user: UserRow, requested: boolean): Promise<void> {
    const now = nowMs();
    const token = newAccountToken(random);
    await insertAccountToken(tx, {
      hash: hashOfToken(token),
      userId: user.id,
      purpose: 'verify',
      issuedAt: new Date(now),
      expiresAt: new Date(now + lifetimeMs),
      requested,
    });
    const content = verifyMail({ email: user.email, token, publicUrl: publicUrl() });
    await mail.queue(tx, { tenantId: null, to: user.email, ...content });
  }

  return {
    sendFirst: (tx, user) => send(tx, user, false),
    wake: () => mail.wake(),

    async resend(userId) {
      const result = await store.directory(async (tx) => {
        // The lock makes concurrent requests count each other.
        const user = await lockUserById(tx, userId);
        if (user === null || user.disabled) throw new PlatformError('invalid_token');
        if (user.email_verified) return 'verified';
        const now = nowMs();
        const { count, oldest } = await countRequested(tx, userId, 'verify', new Date(now - hourMs));
        if (count >= perHourMax) {
          throw tooManyRequests(perHourMax, {
            atMs: (oldest?.getTime() ?? now) + hourMs,
            nowMs: now,
            message: `An account may request ${perHourMax} of these mails an hour.`,
          });
        }
        await send(tx, user, true);
        return 'sent';
      });
      if (result === 'sent') mail.wake();
      return result;
    },

    async verify(token) {
      const change = await store.directory(async (tx) => {
        const now = new Date(nowMs());
        const userId = await takeAccountToken(tx, hashOfToken(token), 'verify', now);
        const user = userId === undefined ? null : await lockUserById(tx, userId);
        if (user === null || user.disabled) throw unusableLink();
        await dropAccountTokens(tx, user.id, 'verify');
        await markEmailVerified(tx, user.id, now);
        const changes = user.email_verified ? {} : addressProved;
        await auditAccount(tx, user.id, { action: 'user.address-proved', changes });
        return announceMemberships(tx, user.id);
      });
      await settled(changes, change);
    },

    addressOf: (token) =>
      store.directory(async (tx) => {
        const userId = await findAccountToken(tx, hashOfToken(token), 'verify', new Date(nowMs()));
        const user = userId === undefined ? null : await findUser(tx, userId);
        return user === null || user.disabled ? undefined : user.email;
      }),

    // An expired token still counts for the hour of its request.
    sweep: () => store.directory((tx) => sweepAccountTokens(tx, sweptRowsMax)),
  };
}

/** Used, expired and unknown tokens get the same error. */
export function unusableLink(): PlatformError {
  return new PlatformError('not_found', {
    message: 'This link was used, has expired or is unknown. Request a new one.',
  });
}
