import { hash } from 'node:crypto';
import { decodeJwt } from 'jose';
import type { Time } from '../../../cluster/index.js';
import { recentEntries } from '../../kernel/recent-entries.js';
import { PlatformError } from '../../kernel/errors.js';
import type { Store } from '../../infra/storage/index.js';
import { accountDisabled } from './disabled-account.js';
import { accessTokenIssuer, type AccessTokens, type KeyClaims, tokenRefusal } from './access-tokens.js';
import type { OutsideIssuer } from './outside-issuer.js';
import type { OutsideSignIn } from './outside-sign-in.js';
import { familyIsLive } from './token-families.store.js';
import { findUser, isDisabled } from './users.store.js';

/**
 * Finds the user or the API key of a bearer token. Checking a signature and asking the store costs some hundred times more than a
 * lookup in memory, so results are cached by the token's hash until the token expires. An entry is dropped when its
 * family ends or its user is disabled. While this node may miss such changes, it asks the store.
 */
export interface VerifiedUser {
  readonly userId: string;
  /** Absent for a token of an external issuer. */
  readonly familyId: string | undefined;
  readonly expiresAtMs: number;
}

/** The key of a token that acts as one. Whether the key is still valid is checked with every request, by its subject. */
export type VerifiedToken = VerifiedUser | KeyClaims;

export interface VerifiedTokens {
  /**
   * Returns without a promise if the token is in memory. Throws or rejects with the refusal. `beforeCheck` may refuse a
   * token that is not in memory, whose check costs a signature and a query.
   */
  verify(bearer: string, beforeCheck?: () => void): VerifiedToken | Promise<VerifiedToken>;
  dropFamily(familyId: string): void;
  dropUser(userId: string): void;
  dropAll(): void;
}

const entriesMax = 50_000;
/** Far above any real access token, far below the limit of a header. */
const tokenCharactersMax = 8_192;
/** The issuer may revoke a token without notice, so it is checked again periodically. */
const outsideRememberedMs = 5 * 60_000;

interface Entry {
  readonly token: VerifiedToken;
  /** By the monotonic clock. */
  readonly checkAgainAtMs: number;
}

export function createVerifiedTokens(dependencies: {
  readonly store: Store;
  readonly tokens: AccessTokens;
  readonly outsideIssuer: OutsideIssuer | undefined;
  readonly signInOutside: OutsideSignIn;
  readonly time: Pick<Time, 'wallMs' | 'monotonicMs'>;
  /** Whether this node receives every change. */
  readonly isFresh: () => boolean;
}): VerifiedTokens {
  const { store, tokens, outsideIssuer, signInOutside, time, isFresh } = dependencies;
  const nowMs = (): number => time.wallMs();
  const hashesOfFamily = new Map<string, Set<string>>();
  const entries = recentEntries<Entry>(entriesMax, {
    // Every removal of an entry also removes it from its family, except a renewal.
    dispose: ({ token }, key, reason) => {
      if (reason !== 'set') forgetKey(familyOf(token), key);
    },
  });
  /** Counts the drops, so that a check that ran during one is not cached. */
  let drops = 0;

  function forgetKey(familyId: string | undefined, key: string): void {
    if (familyId === undefined) return;
    const keys = hashesOfFamily.get(familyId);
    keys?.delete(key);
    if (keys?.size === 0) hashesOfFamily.delete(familyId);
  }

  function remember(key: string, entry: Entry): void {
    entries.set(key, entry);
    const familyId = familyOf(entry.token);
    if (familyId === undefined) return;
    const keys = hashesOfFamily.get(familyId);
    if (keys === undefined) hashesOfFamily.set(familyId, new Set([key]));
    else keys.add(key);
  }

  async function verifyAnew(bearer: string, key: string): Promise<VerifiedToken> {
    const dropsBefore = drops;
    const outside = isOutside(bearer, outsideIssuer);
    const token = outside === undefined ? await ownToken(bearer) : await outsideUser(bearer, outside);
    if (drops === dropsBefore && isFresh()) {
      const checkAgainAtMs = outside === undefined ? Infinity : time.monotonicMs() + outsideRememberedMs;
      remember(key, { token, checkAgainAtMs });
    }
    return token;
  }

  async function ownToken(bearer: string): Promise<VerifiedToken> {
    const claims = await tokens.verify(bearer);
    if ('keyId' in claims) return claims;
    const { familyId, userId } = claims;
    const live = await store.directory((tx) => familyIsLive(tx, familyId, userId, new Date(nowMs())));
    if (!live) throw await refusalOf(userId);
    return claims;
  }

  async function refusalOf(userId: string): Promise<PlatformError> {
    const disabled = await store.directory((tx) => isDisabled(tx, userId));
    return disabled ? accountDisabled() : new PlatformError('invalid_token');
  }

  async function outsideUser(bearer: string, issuer: OutsideIssuer): Promise<VerifiedUser> {
    return { ...(await signInOutside(bearer, issuer)), familyId: undefined };
  }

  /** The cache may be out of date: queries only what can have changed. */
  async function verifyWithStore({ token }: Entry): Promise<VerifiedToken> {
    if ('keyId' in token) return token;
    const { userId, familyId } = token;
    const good = await store.directory(async (tx) => {
      if (familyId !== undefined) return familyIsLive(tx, familyId, userId, new Date(nowMs()));
      return (await findUser(tx, userId))?.disabled === false;
    });
    if (!good) throw await refusalOf(userId);
    return token;
  }

  return {
    verify(bearer, beforeCheck) {
      if (bearer.length > tokenCharactersMax) throw new PlatformError('invalid_token');
      const key = hash('sha256', bearer, 'base64');
      const entry = entries.get(key);
      if (entry === undefined) {
        beforeCheck?.();
        return verifyAnew(bearer, key);
      }
      if (entry.token.expiresAtMs <= nowMs() || entry.checkAgainAtMs <= time.monotonicMs()) {
        entries.delete(key);
        return verifyAnew(bearer, key);
      }
      return isFresh() ? entry.token : verifyWithStore(entry);
    },

    dropFamily(familyId) {
      drops += 1;
      for (const key of hashesOfFamily.get(familyId) ?? []) entries.delete(key);
    },

    dropUser(userId) {
      drops += 1;
      const keys = [...entries.entries()].filter(
        ([, { token }]) => 'userId' in token && token.userId === userId,
      );
      for (const [key] of keys) entries.delete(key);
    },

    dropAll() {
      drops += 1;
      entries.clear();
    },
  };
}

function familyOf(token: VerifiedToken): string | undefined {
  return 'keyId' in token ? undefined : token.familyId;
}

/** Returns the external issuer if the token names it. The token's content is not trusted before its signature is checked. */
function isOutside(bearer: string, outsideIssuer: OutsideIssuer | undefined): OutsideIssuer | undefined {
  if (outsideIssuer === undefined) return undefined;
  try {
    const { iss } = decodeJwt(bearer);
    return iss !== accessTokenIssuer && iss === outsideIssuer.issuer ? outsideIssuer : undefined;
  } catch (cause) {
    throw tokenRefusal(cause);
  }
}
