import { errors as joseErrors, type JWTHeaderParameters, jwtVerify, SignJWT } from 'jose';
import { z } from 'zod';
import { PlatformError } from '../../kernel/errors.js';
import type { SecretRandom } from './secrets.js';
import { signatureAlgorithm, type SigningKeys } from './signing-keys.js';

/**
 * Access tokens: EdDSA JWTs. Issuer and audience are the product's name rather than its address, because nodes of one
 * installation may be reached under several; what tells installations apart is their keys.
 */
export const accessTokenIssuer = 'troupe';
const audience = 'troupe';
const tokenType = 'at+jwt';
export const accessTokenSeconds = 3_600;

export interface AccessClaims {
  readonly userId: string;
  /** Absent for a token of an outside issuer. */
  readonly familyId: string | undefined;
  readonly expiresAtMs: number;
}

const claims = z.object({ sub: z.uuid(), sid: z.uuid(), exp: z.number() });

export interface AccessTokens {
  mint(userId: string, familyId: string): Promise<string>;
  /** What the token says, or the refusal; whether its family still lives is another question. */
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

  return {
    mint(userId, familyId) {
      const { id, key } = keys.signer();
      const issuedAtSeconds = Math.floor(nowMs() / 1_000);
      return new SignJWT({ sid: familyId })
        .setProtectedHeader({ alg: signatureAlgorithm, kid: id, typ: tokenType })
        .setIssuer(accessTokenIssuer)
        .setAudience(audience)
        .setSubject(userId)
        .setJti(random.uuid())
        .setIssuedAt(issuedAtSeconds)
        .setExpirationTime(issuedAtSeconds + accessTokenSeconds)
        .sign(key);
    },

    async verify(token) {
      try {
        const { payload } = await jwtVerify(token, keyFor, {
          algorithms: [signatureAlgorithm],
          issuer: accessTokenIssuer,
          audience,
          typ: tokenType,
          currentDate: new Date(nowMs()),
        });
        const { sub, sid, exp } = claims.parse(payload);
        return { userId: sub, familyId: sid, expiresAtMs: exp * 1_000 };
      } catch (cause) {
        throw tokenRefusal(cause);
      }
    },
  };
}

/** A fault of the token is the caller's; anything else (the store, say) keeps its own name. */
export function tokenRefusal(cause: unknown): unknown {
  if (cause instanceof joseErrors.JOSEError || cause instanceof z.ZodError) {
    return new PlatformError('invalid_token', { cause });
  }
  return cause;
}
