import { errors as joseErrors, type JWTHeaderParameters, jwtVerify, SignJWT } from 'jose';
import { z } from 'zod';
import { PlatformError } from '../../kernel/errors.js';
import type { SecretRandom } from './secrets.js';
import { signatureAlgorithm, type SigningKeys } from './signing-keys.js';

/**
 * Access tokens: EdDSA JWTs. Issuer and audience are the product's name, not its address, because the nodes of one
 * installation may have several addresses. Installations differ by their keys.
 */
export const accessTokenIssuer = 'troupe';
const audience = 'troupe';
const tokenType = 'at+jwt';
export const accessTokenSeconds = 3_600;

/** The lifetime of an access token that acts as an API key. */
export const keyTokenSeconds = 900 as const;

export interface UserClaims {
  readonly userId: string;
  readonly familyId: string;
  readonly expiresAtMs: number;
}

/** An access token that acts as an API key. */
export interface KeyClaims {
  readonly keyId: string;
  readonly tenantId: string;
  readonly expiresAtMs: number;
}

export type AccessClaims = UserClaims | KeyClaims;

const userClaims = z.object({ sub: z.uuid(), sid: z.uuid(), exp: z.number() });
/** The claim `tenant` tells the two kinds apart: no token of a user has it. */
const keyClaims = z.object({ sub: z.uuid(), tenant: z.uuid(), sid: z.never().optional(), exp: z.number() });

export interface AccessTokens {
  mint(userId: string, familyId: string): Promise<string>;
  mintForKey(keyId: string, tenantId: string): Promise<string>;
  /** Returns the token's claims, or throws the refusal. It does not check whether the family still lives. */
  verify(token: string): Promise<AccessClaims>;
}

export function createAccessTokens(
  keys: SigningKeys,
  random: SecretRandom,
  nowMs: () => number,
): AccessTokens {
  async function keyFor(header: JWTHeaderParameters) {
    const key = header.kid === undefined ? undefined : await keys.verifier(header.kid);
    if (key === undefined) throw new joseErrors.JWKSNoMatchingKey();
    return key;
  }

  function sign(subject: string, more: Readonly<Record<string, string>>, seconds: number): Promise<string> {
    const { id, key } = keys.signer();
    const issuedAtSeconds = Math.floor(nowMs() / 1_000);
    return new SignJWT(more)
      .setProtectedHeader({ alg: signatureAlgorithm, kid: id, typ: tokenType })
      .setIssuer(accessTokenIssuer)
      .setAudience(audience)
      .setSubject(subject)
      .setJti(random.uuid())
      .setIssuedAt(issuedAtSeconds)
      .setExpirationTime(issuedAtSeconds + seconds)
      .sign(key);
  }

  return {
    mint: (userId, familyId) => sign(userId, { sid: familyId }, accessTokenSeconds),
    mintForKey: (keyId, tenantId) => sign(keyId, { tenant: tenantId }, keyTokenSeconds),

    async verify(token) {
      try {
        const { payload } = await jwtVerify(token, keyFor, {
          algorithms: [signatureAlgorithm],
          issuer: accessTokenIssuer,
          audience,
          typ: tokenType,
          currentDate: new Date(nowMs()),
        });
        const ofKey = keyClaims.safeParse(payload);
        if (ofKey.success) {
          const { sub, tenant, exp } = ofKey.data;
          return { keyId: sub, tenantId: tenant, expiresAtMs: exp * 1_000 };
        }
        const { sub, sid, exp } = userClaims.parse(payload);
        return { userId: sub, familyId: sid, expiresAtMs: exp * 1_000 };
      } catch (cause) {
        throw tokenRefusal(cause);
      }
    },
  };
}

/** An invalid token is the caller's error; any other error, such as one of the store, is passed on. */
export function tokenRefusal(cause: unknown): unknown {
  if (cause instanceof joseErrors.JOSEError || cause instanceof z.ZodError) {
    return new PlatformError('invalid_token', { cause });
  }
  return cause;
}
