import { PlatformError } from '../../kernel/errors.js';
import type { ChangeFeed, DirectoryTransaction, Store } from '../../infra/storage/index.js';
import { accountDisabled } from './disabled-account.js';
import { accessTokenSeconds, type AccessTokens } from './access-tokens.js';
import { announceFamilyEnded, settled } from './changes.js';
import { hashOfToken, newToken, type SecretRandom } from './secrets.js';
import {
  endFamily,
  insertFamily,
  insertRefreshToken,
  lockRefreshToken,
  sweepFamilies,
  useRefreshToken,
} from './token-families.store.js';
import { findUser, isDisabled } from './users.store.js';

/**
 * Families of refresh tokens. Each token works once and is followed by the next. A token that is used again was copied,
 * and the server cannot tell which holder is the rightful one: the whole family ends, with all its access tokens. That
 * includes a client that sends one token twice at once, or repeats a request whose answer was lost; it must sign in
 * again.
 */
export const familyLifetimeMs = 30 * 86_400_000;
const sweptRowsMax = 10_000;

/** The tokens of a sign-in or a renewal. */
export interface TokenPair {
  readonly access_token: string;
  readonly refresh_token: string;
  readonly token_type: 'Bearer';
  readonly expires_in: number;
}

export interface StartedFamily {
  readonly userId: string;
  readonly familyId: string;
  readonly refreshToken: string;
}

export interface TokenFamilies {
  /** Called within the transaction that signs the user in. */
  start(tx: DirectoryTransaction, userId: string): Promise<StartedFamily>;
  /** Called after that transaction. */
  pairOf(family: StartedFamily): Promise<TokenPair>;
  refresh(refreshToken: string): Promise<TokenPair>;
  /** An access token for the holder of the family's present refresh token, which stays valid. */
  renewAccess(refreshToken: string): Promise<{ readonly userId: string } & Omit<TokenPair, 'refresh_token'>>;
  end(refreshToken: string): Promise<void>;
  sweep(): Promise<void>;
}

type Refreshed =
  | { readonly outcome: 'refreshed'; readonly family: StartedFamily }
  | { readonly outcome: 'refused' }
  | { readonly outcome: 'disabled' }
  | { readonly outcome: 'replayed'; readonly change: number };

export function createTokenFamilies(dependencies: {
  readonly store: Store;
  readonly tokens: AccessTokens;
  readonly random: SecretRandom;
  readonly nowMs: () => number;
  readonly changes: ChangeFeed;
}): TokenFamilies {
  const { store, tokens, random, nowMs, changes } = dependencies;

  async function pairOf({ userId, familyId, refreshToken }: StartedFamily): Promise<TokenPair> {
    return {
      access_token: await tokens.mint(userId, familyId),
      refresh_token: refreshToken,
      token_type: 'Bearer',
      expires_in: accessTokenSeconds,
    };
  }

  /** The family of its present refresh token. A token that was used before ends it. */
  async function familyOf(tx: DirectoryTransaction, refreshToken: string): Promise<Refreshed> {
    const now = new Date(nowMs());
    const hash = hashOfToken(refreshToken);
    const found = await lockRefreshToken(tx, hash, now);
    if (found === null) return { outcome: 'refused' };
    if (!found.live) return { outcome: (await isDisabled(tx, found.user_id)) ? 'disabled' : 'refused' };
    const { family_id: familyId, user_id: userId } = found;
    if (found.used) {
      await endFamily(tx, familyId, 'replayed', now);
      return { outcome: 'replayed', change: await announceFamilyEnded(tx, familyId) };
    }
    if ((await findUser(tx, userId))?.disabled !== false) return { outcome: 'disabled' };
    return { outcome: 'refreshed', family: { userId, familyId, refreshToken } };
  }

  async function rotate(tx: DirectoryTransaction, refreshToken: string): Promise<Refreshed> {
    const found = await familyOf(tx, refreshToken);
    if (found.outcome !== 'refreshed') return found;
    const { familyId } = found.family;
    const now = new Date(nowMs());
    const next = newToken(random);
    await useRefreshToken(tx, {
      hash: hashOfToken(refreshToken),
      familyId,
      now,
      expiresAt: new Date(nowMs() + familyLifetimeMs),
    });
    await insertRefreshToken(tx, { hash: hashOfToken(next), familyId, issuedAt: now });
    return { outcome: 'refreshed', family: { ...found.family, refreshToken: next } };
  }

  /** The end of a replayed family must be committed, so the refusal is thrown after the transaction. */
  async function admitted(
    refreshToken: string,
    step: (tx: DirectoryTransaction, refreshToken: string) => Promise<Refreshed>,
  ): Promise<StartedFamily> {
    const result = await store.directory((tx) => step(tx, refreshToken));
    if (result.outcome === 'replayed') await settled(changes, result.change);
    if (result.outcome === 'disabled') throw accountDisabled();
    if (result.outcome !== 'refreshed') {
      throw new PlatformError('invalid_token', {
        message: 'The refresh token is not valid or has expired. Sign in again.',
      });
    }
    return result.family;
  }

  return {
    async start(tx, userId) {
      const now = new Date(nowMs());
      const family = { userId, familyId: random.uuid(), refreshToken: newToken(random) };
      await insertFamily(tx, {
        id: family.familyId,
        userId,
        createdAt: now,
        expiresAt: new Date(now.getTime() + familyLifetimeMs),
      });
      await insertRefreshToken(tx, {
        hash: hashOfToken(family.refreshToken),
        familyId: family.familyId,
        issuedAt: now,
      });
      return family;
    },

    pairOf,

    refresh: async (refreshToken) => pairOf(await admitted(refreshToken, rotate)),

    async renewAccess(refreshToken) {
      const family = await admitted(refreshToken, familyOf);
      const { refresh_token: _, ...access } = await pairOf(family);
      return { userId: family.userId, ...access };
    },

    async end(refreshToken) {
      const result = await store.directory(async (tx) => {
        const now = new Date(nowMs());
        const found = await lockRefreshToken(tx, hashOfToken(refreshToken), now);
        if (found === null) return 'unknown';
        // Signing out twice is not an error: the family has ended.
        if (!(await endFamily(tx, found.family_id, 'signed-out', now))) return undefined;
        return announceFamilyEnded(tx, found.family_id);
      });
      if (result === 'unknown') {
        throw new PlatformError('invalid_token', { message: 'The refresh token is unknown. Sign in again.' });
      }
      await settled(changes, result);
    },

    async sweep() {
      // Access tokens of an expired family have expired too: they live for an hour and are issued at a renewal.
      await store.directory((tx) => sweepFamilies(tx, familyLifetimeMs, sweptRowsMax));
    },
  };
}
