import { createRemoteJWKSet, errors as joseErrors, jwtVerify } from 'jose';
import { z } from 'zod';
import { type Time, withinSignal } from '../../../cluster/index.js';
import { PlatformError } from '../../kernel/errors.js';
import { tokenRefusal } from './access-tokens.js';
import { emailAddress } from './fields.js';

/**
 * JWTs of the external OIDC issuer that the operator may configure. Its keys are found by discovery, cached, and loaded
 * again when an unknown key id appears (jose bounds how often). The operator sets the address, so the rules for
 * addresses that tenants set do not apply.
 */
export interface OutsideIssuerSettings {
  readonly issuer: string;
  readonly audience: string;
}

export interface OutsideClaims {
  /** Identifies the person for as long as the issuer exists; an email address may change owners. */
  readonly subject: string;
  /** Set only if the issuer has verified it: anyone can claim an address. */
  readonly email: string | undefined;
  readonly expiresAtMs: number;
}

export interface OutsideIssuerParts {
  readonly time: Time;
  /** Hears of failures that no caller hears of. */
  readonly onProblem: (error: unknown) => void;
}

export interface OutsideIssuer {
  readonly issuer: string;
  verify(token: string): Promise<OutsideClaims>;
}

/** No symmetric algorithms: only the issuer may be able to make a token. */
const algorithms = ['EdDSA', 'ES256', 'ES384', 'ES512', 'PS256', 'PS384', 'PS512', 'RS256', 'RS384', 'RS512'];
const requestTimeoutMs = 5_000;
const metadataBytesMax = 256 * 1024;
/** An issuer that does not answer is asked again after this time, not with each request. */
const retryEveryMs = 5_000;
const renewedEveryMs = 3_600_000;
/** While an issuer is away, one line of the log a minute is enough. */
const reportEveryMs = 60_000;
const clockToleranceSeconds = 30;

const webAddress = z.url({ protocol: /^https?$/ });
const discovery = z.object({
  issuer: z.string(),
  jwks_uri: webAddress,
  authorization_endpoint: webAddress.optional(),
  token_endpoint: webAddress.optional(),
});
type KeySet = ReturnType<typeof createRemoteJWKSet>;

/** The maximum of OpenID Connect. */
const subjectCharactersMax = 255;

const claims = z.object({
  sub: z.string().min(1).max(subjectCharactersMax),
  // An invalid address cannot belong to an account.
  email: emailAddress.optional().catch(undefined),
  email_verified: z.boolean().optional(),
  exp: z.number(),
});

export function createOutsideIssuer(
  settings: OutsideIssuerSettings,
  parts: OutsideIssuerParts,
): OutsideIssuer {
  const { time } = parts;
  let known: { readonly address: string; readonly keys: KeySet } | undefined;
  const keySet = new Discovered(settings.issuer, parts, async () => {
    const { jwks_uri: address } = await discover(settings.issuer, time);
    if (known?.address !== address) {
      const keys = createRemoteJWKSet(new URL(address), { timeoutDuration: requestTimeoutMs });
      known = { address, keys };
    }
    return known.keys;
  });

  async function claimsOf(token: string, keys: KeySet): Promise<OutsideClaims> {
    const { payload } = await jwtVerify(token, keys, {
      algorithms,
      issuer: settings.issuer,
      audience: settings.audience,
      requiredClaims: ['exp', 'sub'],
      currentDate: new Date(time.wallMs()),
      clockTolerance: clockToleranceSeconds,
    });
    const { sub, email, email_verified, exp } = claims.parse(payload);
    return { subject: sub, email: email_verified === true ? email : undefined, expiresAtMs: exp * 1_000 };
  }

  return {
    issuer: settings.issuer,
    async verify(token) {
      const keys = await keySet.get();
      try {
        return await claimsOf(token, keys).catch(async (cause: unknown) => {
          if (!isUnreachable(cause)) throw cause;
          // The issuer may have moved its keys to another address.
          const moved = await keySet.renew().catch(() => keys);
          if (moved === keys) throw cause;
          return claimsOf(token, moved);
        });
      } catch (cause) {
        throw isUnreachable(cause) ? unavailable(cause) : tokenRefusal(cause);
      }
    },
  };
}

/** Fetches the issuer's metadata as the first token would. For setup checks. */
export async function examineIssuer(issuer: string, time: Time): Promise<void> {
  await discover(issuer, time);
}

/** Where a browser signs in at the issuer, and where its code is exchanged. */
export function discoverEndpoints(
  issuer: string,
  parts: OutsideIssuerParts,
): Discovered<{ readonly authorization_endpoint: string; readonly token_endpoint: string }> {
  return new Discovered(issuer, parts, async () => {
    const { authorization_endpoint, token_endpoint } = await discover(issuer, parts.time);
    if (authorization_endpoint === undefined || token_endpoint === undefined)
      throw new Error(`${issuer} names no endpoints for the sign-in of a browser`);
    return { authorization_endpoint, token_endpoint };
  });
}

/** What discovery found. It is read again after an hour, and when what it named cannot be reached. */
class Discovered<T> {
  readonly #issuer: string;
  readonly #parts: OutsideIssuerParts;
  readonly #read: () => Promise<T>;
  #found: { readonly value: T; readonly atMs: number } | undefined;
  #reading: Promise<T> | undefined;
  #triedAtMs = -Infinity;
  #reportedAtMs = -Infinity;

  constructor(issuer: string, parts: OutsideIssuerParts, read: () => Promise<T>) {
    this.#issuer = issuer;
    this.#parts = parts;
    this.#read = read;
  }

  async get(): Promise<T> {
    if (this.#found === undefined) return this.renew();
    const { value, atMs } = this.#found;
    // What was found serves meanwhile, and if the issuer does not answer.
    if (this.#nowMs() - atMs >= renewedEveryMs) void this.renew().catch(() => undefined);
    return value;
  }

  /** Reads again, unless it was read a moment ago: then it rejects. */
  renew(): Promise<T> {
    if (this.#reading !== undefined) return this.#reading;
    if (this.#nowMs() - this.#triedAtMs < retryEveryMs) return Promise.reject(unavailable());
    this.#reading = this.#read()
      .then(
        (value) => {
          this.#found = { value, atMs: this.#nowMs() };
          return value;
        },
        (cause: unknown) => {
          this.#reportOldServes(cause);
          throw unavailable(cause);
        },
      )
      .finally(() => {
        this.#triedAtMs = this.#nowMs();
        this.#reading = undefined;
      });
    return this.#reading;
  }

  /** Where something was found before, callers go on with it and drop the failure. */
  #reportOldServes(cause: unknown): void {
    const now = this.#nowMs();
    if (this.#found === undefined || now - this.#reportedAtMs < reportEveryMs) return;
    this.#reportedAtMs = now;
    const message = `${this.#issuer} could not be discovered again; what it named before is still used`;
    this.#parts.onProblem(new Error(message, { cause }));
  }

  /** Not the wall clock: one that is set back would stop the renewals until it gets there again. */
  #nowMs(): number {
    return this.#parts.time.monotonicMs();
  }
}

async function discover(issuer: string, time: Time): Promise<z.output<typeof discovery>> {
  const address = new URL(`${issuer.replace(/\/+$/, '')}/.well-known/openid-configuration`);
  const late = (): Error => new Error(`${address.href} did not answer within ${requestTimeoutMs} ms`);
  const text = await withinSignal(time, requestTimeoutMs, undefined, late, async (signal) => {
    const response = await fetch(address, { headers: { accept: 'application/json' }, signal });
    if (!response.ok) throw new Error(`${address.href} answered ${response.status}`);
    return response.text();
  });
  if (text.length > metadataBytesMax)
    throw new Error(`${address.href} answered more than ${metadataBytesMax} bytes`);
  const metadata = discovery.parse(JSON.parse(text));
  if (metadata.issuer !== issuer) {
    throw new Error(`${address.href} speaks for ${metadata.issuer}, not for ${issuer}`);
  }
  return metadata;
}

/** jose throws its general error if the key address answers anything but 200; fetch throws a TypeError. */
function isUnreachable(cause: unknown): boolean {
  if (cause instanceof joseErrors.JWKSTimeout || cause instanceof TypeError) return true;
  return cause instanceof joseErrors.JOSEError && cause.code === 'ERR_JOSE_GENERIC';
}

function unavailable(cause?: unknown): PlatformError {
  return new PlatformError('service_unavailable', {
    message:
      'The issuer of this token cannot be reached for its keys. Retry in a moment; the operator finds the cause in the log.',
    retryAfterSeconds: retryEveryMs / 1_000,
    cause,
  });
}
