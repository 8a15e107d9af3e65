import { timingSafeEqual } from 'node:crypto';
import { isReady, whenReady } from '../../kernel/ready.js';
import type { Caller, KeyCaller, Role, TenantLimits, VisitorCaller } from '../../kernel/caller.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import { type ErrorCode, PlatformError } from '../../kernel/errors.js';
import type { Access, Authenticator, Credentials, PublicKeyUse } from '../operations/index.js';

/** The claims of a user's verified access token. */
export interface UserToken {
  readonly userId: string;
  readonly familyId: string | undefined;
  readonly expiresAtMs: number;
}

/** The claims of a verified access token that acts as an API key. */
export interface KeyToken {
  readonly keyId: string;
  readonly tenantId: string;
  readonly expiresAtMs: number;
}

export type VerifiedToken = UserToken | KeyToken;

export interface Membership {
  readonly scope: TenantScope;
  readonly role: Role;
  readonly limits: TenantLimits;
}

export interface AuthenticationParts {
  /** Throws `invalid_token`. */
  readonly verifyToken: (
    bearer: string,
    /** Called before a token that is not cached is verified; an error that it throws refuses the token. */
    beforeCheck?: () => void,
  ) => VerifiedToken | Promise<VerifiedToken>;
  /** Throws `tenant_not_found`. Without a tenant id, a user's only tenant; otherwise `missing_tenant`. */
  readonly membershipOf: (
    userId: string,
    tenantId: string | undefined,
    beforeCheck?: () => void,
  ) => Membership | Promise<Membership>;
  /** Throws `invalid_api_key`. */
  readonly authenticateKey: (apiKey: string, address: string) => KeyCaller | Promise<KeyCaller>;
  /** The key that a verified access token acts as. Throws `invalid_api_key` if the key has ended. */
  readonly authenticateKeyToken: (token: KeyToken, address: string) => KeyCaller | Promise<KeyCaller>;
  /** Throws `invalid_api_key` or `origin_not_allowed`. */
  readonly authenticateVisitor: (use: PublicKeyUse) => VisitorCaller | Promise<VisitorCaller>;
  readonly operatorToken: string | undefined;
  /** Counts wrong credentials by address; without it, nothing is counted. */
  readonly failures?: FailureCount;
}

/** Both methods return the error for an address or user with too many failed attempts. */
export interface FailureCount {
  note(subject: string): PlatformError | undefined;
  beforeCheck(subject: string): PlatformError | undefined;
}

const keyPrefix = /^svc_(?:live|test|dev)_/;
const accessTokenForm = /^[\w-]+\.[\w-]+\.[\w-]+$/;

/**
 * Maps a credential to a caller. `X-Api-Key` has priority over a bearer token. A bearer token that looks like an API key
 * is treated as one. On routes that accept only keys, so is any bearer token without the form of an access token: the
 * answer is "wrong key", not "missing credential". A credential of a kind that the route does not accept is ignored.
 */
export function createAuthenticator(parts: AuthenticationParts): Authenticator {
  const authenticateUser = createUserAuthentication(parts);
  return {
    authenticate(credentials: Credentials, access: Access): Caller | Promise<Caller> {
      const { bearer, address } = credentials;
      if (access.credentials.size === 0) return { kind: 'anonymous', address };
      if (credentials.publicKey !== undefined) return parts.authenticateVisitor(credentials.publicKey);
      const apiKey =
        credentials.apiKey ?? (bearer !== undefined && isKey(bearer, access) ? bearer : undefined);
      if (apiKey !== undefined && access.credentials.has('key'))
        return parts.authenticateKey(apiKey, address);
      if (apiKey !== undefined || bearer === undefined) {
        const needsNone = access.anonymous || (access.local && credentials.isLocal === true);
        if (needsNone) return { kind: 'anonymous', address };
        throw new PlatformError('authentication_required', { message: messageFor(access) });
      }
      if (access.credentials.has('operator')) return authenticateOperator(parts, bearer, address);
      if (!access.credentials.has('user')) {
        throw new PlatformError('authentication_required', { message: messageFor(access) });
      }
      return authenticateUser(bearer, credentials, access);
    },
  };
}

function isKey(bearer: string, { credentials }: Access): boolean {
  if (keyPrefix.test(bearer)) return true;
  const onlyKeys = credentials.size === 1 && credentials.has('key');
  return onlyKeys && !accessTokenForm.test(bearer);
}

function messageFor(access: Access): string {
  const kinds = {
    key: 'an API key (X-Api-Key)',
    user: 'an access token (Authorization: Bearer)',
    operator: 'the operator token',
    'public-key': 'a public key in the path',
  };
  const needed = [...access.credentials].map((kind) => kinds[kind]);
  if (access.local)
    needed.push('to come from this machine itself, to localhost or a loopback address, not through a proxy');
  return `This request needs ${needed.join(' or ')}.`;
}

function authenticateOperator(
  { operatorToken: token, failures }: AuthenticationParts,
  bearer: string,
  address: string,
): Caller {
  const given = Buffer.from(bearer);
  const expected = Buffer.from(token ?? '');
  const same = given.length === expected.length && timingSafeEqual(given, expected);
  if (token === undefined || !same) {
    throw (
      failures?.note(address) ??
      new PlatformError('invalid_token', {
        message: 'The operator token is wrong. It must be the value of TROUPE_OPERATOR_TOKEN.',
      })
    );
  }
  return { kind: 'operator', address };
}

function createUserAuthentication(parts: AuthenticationParts) {
  return (bearer: string, credentials: Credentials, access: Access): Caller | Promise<Caller> => {
    const verified = counted(
      parts.failures,
      { subject: credentials.address, wrong: 'invalid_token' },
      (beforeCheck) => parts.verifyToken(bearer, beforeCheck),
    );
    const place = (token: VerifiedToken): Caller | Promise<Caller> =>
      'keyId' in token
        ? actAsKey(parts, token, credentials, access)
        : placeInTenant(parts, token, credentials, access);
    return whenReady(verified, place);
  };
}

/** Cached results are never delayed; results that need a check count as a failure if they are wrong. */
function counted<Value>(
  failures: FailureCount | undefined,
  { subject, wrong }: { readonly subject: string; readonly wrong: ErrorCode },
  check: (beforeCheck?: () => void) => Value | Promise<Value>,
): Value | Promise<Value> {
  if (failures === undefined) return check();
  const refuse = (error: unknown): never => {
    const isWrong = error instanceof PlatformError && error.code === wrong;
    throw (isWrong ? failures.note(subject) : undefined) ?? error;
  };
  try {
    const checked = check(() => {
      const refusal = failures.beforeCheck(subject);
      if (refusal !== undefined) throw refusal;
    });
    return isReady(checked) ? checked : checked.catch(refuse);
  } catch (error) {
    return refuse(error);
  }
}

/** A key is no user: operations without a tenant are those of an account. */
function actAsKey(
  parts: AuthenticationParts,
  token: KeyToken,
  { address }: Credentials,
  { tenant }: Access,
): Caller | Promise<Caller> {
  if (tenant.from === 'none') {
    throw new PlatformError('insufficient_permissions', {
      message: 'This request needs the access token of a user; this token acts as an API key.',
    });
  }
  const finish = (caller: KeyCaller): Caller => ({ ...caller, expiresAtMs: token.expiresAtMs });
  const refuse = (error: unknown): never => {
    const ended = error instanceof PlatformError && error.code === 'invalid_api_key';
    throw ended ? new PlatformError('invalid_token', { cause: error }) : error;
  };
  try {
    const key = parts.authenticateKeyToken(token, address);
    return key instanceof Promise ? key.then(finish, refuse) : finish(key);
  } catch (error) {
    return refuse(error);
  }
}

function placeInTenant(
  parts: AuthenticationParts,
  token: UserToken,
  { tenantId, address }: Credentials,
  { tenant }: Access,
): Caller | Promise<Caller> {
  if (tenant.from === 'none') return { kind: 'user', ...token, address };
  if (tenantId === undefined && tenant.from === 'required-header') {
    throw new PlatformError('missing_tenant', {
      message: 'The header x-tenant-id is required: it names the tenant that the request is for.',
      details: { field: 'x-tenant-id', issue: 'required' },
    });
  }
  const finish = (membership: Membership): Caller => ({
    kind: 'tenant-user',
    ...token,
    address,
    ...membership,
  });
  // Counted by user, not by address: only an account holder can try tenants, and neighbours must not be affected.
  const found = counted(
    parts.failures,
    { subject: `user ${token.userId}`, wrong: 'tenant_not_found' },
    (beforeCheck) => parts.membershipOf(token.userId, tenantId, beforeCheck),
  );
  return whenReady(found, finish);
}
