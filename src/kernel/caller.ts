import type { Budget } from './budget.js';
import type { ModelAliases } from './model-aliases.js';
import type { TenantScope } from './tenant-scope.js';

export const roles = ['owner', 'admin', 'editor', 'member'] as const;
export type Role = (typeof roles)[number];

/** 0 is the highest rank. */
export function rankOf(role: Role): number {
  return roles.indexOf(role);
}

export function isAbove(role: Role, other: Role): boolean {
  return rankOf(role) < rankOf(other);
}

export type Plan = 'free' | 'basic' | 'pro' | 'enterprise';

/** The limits of a tenant that admission checks: those of the plan unless the tenant has its own. */
export interface TenantLimits {
  readonly plan: Plan;
  readonly requestsPerMinute: number;
  readonly requestsPerDay: number;
  readonly monthlyTokens: number;
  readonly keyRpmMax: number;
  /** What the tenant may spend; absent without a budget. */
  readonly budget?: Budget | undefined;
  /** The tenant's own names of models; absent without any. */
  readonly modelAliases?: ModelAliases | undefined;
}

export interface AnonymousCaller {
  readonly kind: 'anonymous';
  readonly address: string;
}

/** A signed-in user in a request that names no tenant. */
export interface UserCaller {
  readonly kind: 'user';
  readonly userId: string;
  /** The chain of refresh tokens that the access token belongs to; absent for a token of an outside issuer. */
  readonly familyId: string | undefined;
  /** When the access token expires. */
  readonly expiresAtMs: number;
  readonly address: string;
}

export interface TenantUserCaller {
  readonly kind: 'tenant-user';
  readonly userId: string;
  readonly familyId: string | undefined;
  readonly expiresAtMs: number;
  readonly address: string;
  readonly scope: TenantScope;
  readonly role: Role;
  readonly limits: TenantLimits;
}

export interface KeyCaller {
  readonly kind: 'key';
  readonly keyId: string;
  readonly address: string;
  readonly scope: TenantScope;
  readonly role: Role;
  readonly limits: TenantLimits;
  /** The effective limit: never above what the plan currently allows. */
  readonly requestsPerMinute: number;
  readonly quotaLimit: number | null;
  /** When the access token that acts as the key expires; absent for the key itself. */
  readonly expiresAtMs?: number;
}

/** A visitor of a page that carries a public key of the tenant. */
export interface VisitorCaller {
  readonly kind: 'visitor';
  readonly keyId: string;
  readonly address: string;
  readonly scope: TenantScope;
  readonly limits: TenantLimits;
  /** Those of the key, which all visitors share. */
  readonly requestsPerMinute: number;
  readonly quotaLimit: number | null;
  /** The only agents that the key may chat with. */
  readonly agentIds: ReadonlySet<string>;
  /** Who the visitor's secret says it is; undefined without one. */
  readonly visitorId: string | undefined;
}

/** The key of a visitor's page as a caller with the lowest role, for what counts and runs for the key. */
export function keyOfVisitor(visitor: VisitorCaller): KeyCaller {
  const { keyId, address, scope, limits, requestsPerMinute, quotaLimit } = visitor;
  return { kind: 'key', keyId, address, scope, role: 'member', limits, requestsPerMinute, quotaLimit };
}

export interface OperatorCaller {
  readonly kind: 'operator';
  readonly address: string;
}

export type TenantCaller = TenantUserCaller | KeyCaller;
export type Caller =
  | AnonymousCaller
  | UserCaller
  | TenantUserCaller
  | KeyCaller
  | VisitorCaller
  | OperatorCaller;

/** Names the caller in audit rows and events. */
export function actorOf(caller: Caller): string {
  switch (caller.kind) {
    case 'anonymous':
      return 'anonymous';
    case 'user':
    case 'tenant-user':
      return `user:${caller.userId}`;
    case 'key':
      return `key:${caller.keyId}`;
    case 'visitor':
      return `visitor:${caller.visitorId ?? caller.keyId}`;
    case 'operator':
      return 'operator';
  }
}
