import type { Role } from '../../kernel/caller.js';
import { PlatformError } from '../../kernel/errors.js';

/**
 * The only table of permissions, for access tokens, API keys and MCP tools. An owner has every permission, an admin
 * all but the deletion of the tenant; the permissions missing from the other two roles are theirs alone.
 */
export const permissions = [
  'agents:read',
  'agents:chat',
  'agents:create',
  'agents:update',
  'agents:delete',
  'agents:publish',
  'versions:read',
  'versions:create',
  'versions:rollback',
  'schemas:read',
  'schemas:create',
  'schemas:update',
  'schemas:delete',
  'tools:read',
  'tools:create',
  'tools:update',
  'tools:delete',
  'triggers:read',
  'triggers:create',
  'triggers:update',
  'triggers:delete',
  'databases:read',
  'databases:create',
  'databases:update',
  'databases:delete',
  'sessions:read',
  'sessions:create',
  'sessions:control',
  'sessions:cancel',
  'sessions:delete',
  'messages:send',
  'consumers:read',
  'consumers:delete',
  'executions:read',
  'executions:create',
  'llm:call',
  'models:read',
  'quota:read',
  'telemetry:read',
  'telemetry:write',
  'secrets:read',
  'secrets:write',
  'mail_domains:read',
  'mail_domains:write',
  'keys:read',
  'keys:create',
  'keys:write',
  'keys:token',
  'tenants:update',
  'tenants:delete',
  'members:read',
  'members:write',
  'billing:read',
  'audit:read',
  'exports:read',
] as const;

export type Permission = (typeof permissions)[number];

const member: readonly Permission[] = ['agents:read', 'agents:chat', 'sessions:read', 'sessions:create'];

const editor: readonly Permission[] = [
  ...member,
  'agents:create',
  'agents:update',
  'schemas:read',
  'schemas:create',
  'schemas:update',
  'tools:read',
  'tools:create',
  'tools:update',
  'triggers:read',
  'triggers:create',
  'triggers:update',
  'databases:read',
  'databases:create',
  'databases:update',
  'consumers:read',
  'executions:read',
  'executions:create',
  'llm:call',
  'models:read',
  'quota:read',
  'telemetry:read',
  'keys:read',
  'keys:create',
];

const granted: Record<Role, ReadonlySet<Permission>> = {
  owner: new Set(permissions),
  // Only an owner ends the tenant.
  admin: new Set(permissions.filter((permission) => permission !== 'tenants:delete')),
  editor: new Set(editor),
  member: new Set(member),
};

export function allows(role: Role, permission: Permission): boolean {
  return granted[role].has(permission);
}

/** The refusal of a role without the permission. */
export function lacksPermission(role: Role, permission: Permission): PlatformError {
  return new PlatformError('insufficient_permissions', {
    message: `The role ${role} does not have the permission ${permission}.`,
    details: { permission, role },
  });
}

export function permissionsOf(role: Role): readonly Permission[] {
  return permissions.filter((permission) => allows(role, permission));
}
