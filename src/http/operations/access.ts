import type {
  AnonymousCaller,
  Caller,
  KeyCaller,
  OperatorCaller,
  TenantCaller,
  TenantUserCaller,
  UserCaller,
} from '../../kernel/caller.js';
import type { Permission } from './permissions.js';

/** Where the tenant of a request is named. */
export type TenantSource =
  /** No tenant is meant. */
  | { readonly from: 'none' }
  /** `x-tenant-id`, which a user of exactly one tenant may leave out. */
  | { readonly from: 'header' }
  /** `x-tenant-id`, which must be there. */
  | { readonly from: 'required-header' }
  /** A parameter of the path. */
  | { readonly from: 'path'; readonly parameter: string };

/**
 * Who may call an operation. The kinds of credential are a rule of the REST route; the permission is a rule of the
 * operation itself and holds behind every door.
 */
export interface Access<Who extends Caller = Caller> {
  readonly credentials: ReadonlySet<'user' | 'key' | 'operator'>;
  /** True where the operation also serves callers without a credential. */
  readonly anonymous: boolean;
  /** True where it also serves requests without a credential that come from this machine itself. */
  readonly local: boolean;
  readonly tenant: TenantSource;
  /** Null: every role of the tenant. */
  readonly permission: Permission | null;
  /** Carries the type of caller that the handler gets; never set. */
  readonly who?: Who;
}

function access<Who extends Caller>(
  credentials: readonly ('user' | 'key' | 'operator')[],
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

/** No credential is looked at. */
export function anyone(): Access<AnonymousCaller> {
  return access([], { from: 'none' }, null, 'anyone');
}

/** A signed-in user; no tenant is meant. */
export function user(): Access<UserCaller> {
  return access(['user'], { from: 'none' }, null);
}

/** With or without a signed-in user: the handler decides what is missing. */
export function anyoneOrUser(): Access<AnonymousCaller | UserCaller> {
  return access(['user'], { from: 'none' }, null, 'anyone');
}

/** A signed-in user in the tenant of `x-tenant-id`. */
export function tenantUser(
  permission: Permission | null,
  header: 'header' | 'required-header' = 'header',
): Access<TenantUserCaller> {
  return access(['user'], { from: header }, permission);
}

/** A signed-in user in the tenant that the path names. */
export function tenantUserAt(parameter: string, permission: Permission | null): Access<TenantUserCaller> {
  return access(['user'], { from: 'path', parameter }, permission);
}

export function apiKey(permission: Permission | null): Access<KeyCaller> {
  return access(['key'], { from: 'header' }, permission);
}

/** A signed-in user in a tenant, or an API key. */
export function tenantCaller(permission: Permission | null): Access<TenantCaller> {
  return access(['user', 'key'], { from: 'header' }, permission);
}

/** The operator of the installation, by `TROUPE_OPERATOR_TOKEN`. */
export function operator(): Access<OperatorCaller> {
  return access(['operator'], { from: 'none' }, null);
}

/** The operator, or whoever calls from this machine itself. */
export function operatorOrLocal(): Access<OperatorCaller | AnonymousCaller> {
  return access(['operator'], { from: 'none' }, null, 'local');
}
