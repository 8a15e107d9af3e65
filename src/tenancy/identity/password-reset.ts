import type { Mail } from '../../infra/mail/index.js';
import type { ChangeFeed, DirectoryTransaction, Store } from '../../infra/storage/index.js';
import { addressProved, auditAccount } from './account-audit.js';
import { resetMail } from './account-mails.js';
import {
  countRequested,
  dropAccountTokens,
  findAccountToken,
  insertAccountToken,
  insertResetRequest,
  takeAccountToken,
  takeResetRequests,
} from './account-tokens.store.js';
import { announceUser, announceMemberships, settled } from './changes.js';
import { emailKeyOf } from './fields.js';
import type { Passwords } from './passwords.js';
import { hashOfToken, newAccountToken, type SecretRandom } from './secrets.js';
import type { SignInLimits } from './sign-in-limits.js';
import { endFamiliesOfUser } from './token-families.store.js';
import { findUser, lockUserByEmail, lockUserById, markEmailVerified, setPassword } from './users.store.js';
import { unusableLink } from './verification.js';

const lifetimeMs = 3_600_000;
/** Bounds the mails that strangers can have sent to one address. Further requests get the same answer and no mail. */
const mailsPerHourMax = 5;
const atOnceMax = 20;

export interface PasswordReset {
  /** Takes the same steps whether the address has an account or not. */
  request(email: string): Promise<void>;
  /** Sends the mails of requests of every node. */
  sendRequested(): Promise<void>;
  /** Throws `not_found` for a token that is used, expired or unknown. */
  reset(token: string, password: string): Promise<void>;
  /** The address of the account that the token belongs to; undefined if the token cannot be used. */
  addressOf(token: string): Promise<string | undefined>;
}

export function createPasswordReset(dependencies: {
  readonly store: Store;
  readonly changes: ChangeFeed;
  readonly passwords: Passwords;
  readonly limits: SignInLimits;
  readonly mail: Pick<Mail, 'queue' | 'wake'>;
  readonly publicUrl: () => string;
  readonly random: SecretRandom;
  readonly nowMs: () => number;
  /** Called after a request is stored: `sendRequested` is to be called soon. */
  readonly onRequest: () => void;
}): PasswordReset {
  const { store, changes, passwords, limits, mail, publicUrl, random, nowMs, onRequest } = dependencies;

  async function sendTo(tx: DirectoryTransaction, email: string): Promise<boolean> {
    // The lock makes transactions of other nodes that send to this account count each other.
    const user = await lockUserByEmail(tx, email);
    if (user === null || user.disabled) return false;
    const now = nowMs();
    const { count } = await countRequested(tx, user.id, 'reset', new Date(now - lifetimeMs));
    if (count >= mailsPerHourMax) return false;
    const token = newAccountToken(random);
    await insertAccountToken(tx, {
      hash: hashOfToken(token),
      userId: user.id,
      purpose: 'reset',
      issuedAt: new Date(now),
      expiresAt: new Date(now + lifetimeMs),
      requested: true,
    });
    const content = resetMail({ email: user.email, token, publicUrl: publicUrl() });
    await mail.queue(tx, { tenantId: null, to: user.email, ...content });
    return true;
  }

  const ownerOf = (token: string): Promise<string | undefined> =>
    store.directory((tx) => findAccountToken(tx, hashOfToken(token), 'reset', new Date(nowMs())));

  return {
    async request(email) {
      await store.directory((tx) => insertResetRequest(tx, email, new Date(nowMs())));
      onRequest();
    },

    async sendRequested() {
      for (;;) {
        // Requests leave the table in the commit that queues their mails: a process that dies in between loses none.
        const { taken, sent } = await store.directory(async (tx) => {
          const emails = await takeResetRequests(tx, atOnceMax);
          let mails = 0;
          // Every node locks accounts in this order, so that no two nodes wait for each other.
          for (const email of emails.toSorted(byKey)) if (await sendTo(tx, email)) mails += 1;
          return { taken: emails.length, sent: mails };
        });
        if (sent > 0) mail.wake();
        if (taken < atOnceMax) return;
      }
    },

    async reset(token, password) {
      // Only saves the cost of a hash; taking the token decides.
      if ((await ownerOf(token)) === undefined) throw unusableLink();
      const passwordHash = await passwords.hash(password);
      const change = await store.directory(async (tx) => {
        const now = new Date(nowMs());
        const userId = await takeAccountToken(tx, hashOfToken(token), 'reset', now);
        const user = userId === undefined ? null : await lockUserById(tx, userId);
        if (user === null || user.disabled) throw unusableLink();
        await dropAccountTokens(tx, user.id);
        await setPassword(tx, user.id, passwordHash);
        await markEmailVerified(tx, user.id, now);
        await endFamiliesOfUser(tx, user.id, 'password-reset', now);
        // The owner of the address must not wait because of wrong passwords of others.
        await limits.forget(tx, user.email);
        await auditAccount(tx, user.id, {
          action: 'user.password-reset',
          changes: user.email_verified ? {} : addressProved,
        });
        await announceMemberships(tx, user.id);
        return announceUser(tx, user.id);
      });
      await settled(changes, change);
    },

    async addressOf(token) {
      const userId = await ownerOf(token);
      if (userId === undefined) return undefined;
      const user = await store.directory((tx) => findUser(tx, userId));
      return user === null || user.disabled ? undefined : user.email;
    },
  };
}

/** The same on every machine, whatever its language. */
function byKey(one: string, other: string): number {
  const [first, second] = [emailKeyOf(one), emailKeyOf(other)];
  return first < second ? -1 : Number(first > second);
}
