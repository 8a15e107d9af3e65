import type {
  AnonymousCaller,
  Caller,
  KeyCaller,
  OperatorCaller,
  TenantCaller,
  UserCaller,
  VisitorCaller,
} from '../../kernel/caller.js';
import type { Permission } from './permissions.js';

/** Where a request names its tenant. */
export type TenantSource =
  /** The request has no tenant. */
  | { readonly from: 'none' }
  /** `x-tenant-id`, optional for a user with exactly one tenant. */
  | { readonly from: 'header' }
  /** `x-tenant-id`, required. */
  | { readonly from: 'required-header' }
  /** A parameter of the path. */
  | { readonly from: 'path'; readonly parameter: string };

/** `public-key`: a key in the path, from a page of one of its origins. No other operation takes one. */
export type CredentialKind = 'user' | 'key' | 'operator' | 'public-key';

/**
 * The callers that may use an operation. The kinds of credential are a rule of the REST route; the permission is a rule
 * of the operation and applies to every way of calling it.
 */
export interface Access<Who extends Caller = Caller> {
  readonly credentials: ReadonlySet<CredentialKind>;
  /** True if callers without a credential are accepted. */
  readonly anonymous: boolean;
  /** True if requests from this machine are accepted without a credential. */
  readonly local: boolean;
  readonly tenant: TenantSource;
  /** Null: every role of the tenant may call. */
  readonly permission: Permission | null;
  /** Carries the type of the handler's caller; never set. */
  readonly who?: Who;
}

function access<Who extends Caller>(
  credentials: readonly CredentialKind[],
  tenant: TenantSource,
  permission: Permission | null,
  without: 'nobody' | 'anyone' | 'local' = 'nobody',
): Access<Who> {
  return {
    credentials: new Set(credentials),
    tenant,
    permission,
    anonymous: without === 'anyone',
    local: without === 'local',
  };
}

/** Credentials are ignored. */
export function anyone(): Access<AnonymousCaller> {
  return access([], { from: 'none' }, null, 'anyone');
}

/** A signed-in user, without a tenant. */
export function user(): Access<UserCaller> {
  return access(['user'], { from: 'none' }, null);
}

/** With or without a signed-in user; the handler checks the rest. */
export function anyoneOrUser(): Access<AnonymousCaller | UserCaller> {
  return access(['user'], { from: 'none' }, null, 'anyone');
}

/** A signed-in user in the tenant of `x-tenant-id`, or an access token that acts as an API key. */
export function tenantUser(
  permission: Permission | null,
  header: 'header' | 'required-header' = 'header',
): Access<TenantCaller> {
  return access(['user'], { from: header }, permission);
}

/** A signed-in user in the tenant named by the path, or an access token that acts as an API key. */
export function tenantUserAt(parameter: string, permission: Permission | null): Access<TenantCaller> {
  return access(['user'], { from: 'path', parameter }, permission);
}

export function apiKey(permission: Permission | null): Access<KeyCaller> {
  return access(['key'], { from: 'header' }, permission);
}

/** A signed-in user in a tenant, or an API key. */
export function tenantCaller(permission: Permission | null): Access<TenantCaller> {
  return access(['user', 'key'], { from: 'header' }, permission);
}

/** A visitor of a page with a public key: the path names the key, and `X-Visitor-Secret` the visitor. */
export function visitor(): Access<VisitorCaller> {
  return access(['public-key'], { from: 'none' }, null);
}

/** The parameter of the path that names the public key. */
export const publicKeyParameter = 'publicKey';

/** The operator of the installation, by `TROUPE_OPERATOR_TOKEN`. */
export function operator(): Access<OperatorCaller> {
  return access(['operator'], { from: 'none' }, null);
}

/** The operator, or any caller from this machine. */
export function operatorOrLocal(): Access<OperatorCaller | AnonymousCaller> {
  return access(['operator'], { from: 'none' }, null, 'local');
}
