import { z } from 'zod';
import { budgetShape } from '../../kernel/budget.js';
import { modelAliases } from '../../kernel/model-aliases.js';
import { retentionOf, retentionShape } from '../../kernel/retention.js';
import { roles } from '../../kernel/caller.js';
import { named, oneShape } from '../../http/operations/index.js';
import type { DirectoryTransaction, TenantTransaction } from '../../infra/storage/index.js';
import { plans, tenantSettings } from '../../kernel/plans/index.js';
import { findMembersAmong, type MemberRow } from './members.store.js';
import type { OwnTenantRow, TenantRow } from './tenants.store.js';
import { findNames, type UserRow } from './users.store.js';

/** The replies of this subject, and their conversion from rows. */
export const userShape = named(
  'User',
  z.object({
    id: z.uuid(),
    email: z.string(),
    name: z.string(),
    email_verified: z.boolean().describe('Whether the owner has proved to read mail at this address.'),
  }),
);

export const ownTenantShape = named(
  'OwnTenant',
  z.object({
    id: z.uuid(),
    name: z.string(),
    role: z.enum(roles),
    plan: z.enum(plans),
  }),
);

export const tokenPairShape = named(
  'TokenPair',
  z.object({
    access_token: z.string(),
    refresh_token: z.string(),
    token_type: z.literal('Bearer'),
    expires_in: z.int(),
  }),
);

/** The reply to every kind of sign-in. */
export const signedInShape = oneShape(
  z.object({ user: userShape, tenants: z.array(ownTenantShape), ...tokenPairShape.shape }),
);

export type SignedIn = z.input<typeof signedInShape>;

export const tenantShape = named(
  'Tenant',
  ownTenantShape.extend({
    created_at: z.iso.datetime(),
    budget: named('Budget', budgetShape).optional().describe('Shown where it is set.'),
  }),
);

/** One tenant with what holds for its data. */
export const keptTenantShape = named(
  'TenantDetail',
  tenantShape.extend({
    retention: named('Retention', retentionShape).describe('For how many days rows are kept.'),
    model_aliases: modelAliases.optional().describe("The tenant's own names of models, where it has any."),
  }),
);

export const memberShape = named(
  'Member',
  z.object({
    id: z.uuid().describe("The user's id."),
    user_id: z.uuid().describe("The user's id."),
    email: z.string(),
    name: z.string(),
    role: z.enum(roles),
    phone: z.string().nullable(),
    external_id: z.string().nullable(),
    created_at: z.iso.datetime().describe('When the user joined.'),
  }),
);

export const plannedTenantShape = named(
  'PlannedTenant',
  z.object({
    id: z.uuid(),
    name: z.string(),
    plan: z.enum(plans),
    settings: tenantSettings.describe('Figures that override those of the plan.'),
    created_at: z.iso.datetime(),
  }),
);

export function userFrom(row: UserRow): z.input<typeof userShape> {
  return { id: row.id, email: row.email, name: nameOf(row), email_verified: row.email_verified };
}

export function ownTenantFrom(row: OwnTenantRow): z.input<typeof ownTenantShape> {
  return { id: row.id, name: row.name, role: row.role, plan: row.plan };
}

export function tenantFrom(row: OwnTenantRow): z.input<typeof tenantShape> {
  const { budget } = row.settings;
  return {
    ...ownTenantFrom(row),
    created_at: row.created_at.toISOString(),
    ...(budget !== undefined && { budget }),
  };
}

export function keptTenantFrom(row: OwnTenantRow): z.input<typeof keptTenantShape> {
  const { model_aliases } = row.settings;
  return {
    ...tenantFrom(row),
    retention: retentionOf(row.retention),
    ...(model_aliases !== undefined && { model_aliases }),
  };
}

export function memberFrom(row: MemberRow): z.input<typeof memberShape> {
  return {
    id: row.user_id,
    user_id: row.user_id,
    email: row.email,
    name: nameOf(row),
    role: row.role,
    phone: row.phone,
    external_id: row.external_id,
    created_at: row.created_at.toISOString(),
  };
}

export function plannedTenantFrom(row: TenantRow): z.input<typeof plannedTenantShape> {
  return {
    id: row.id,
    name: row.name,
    plan: row.plan,
    settings: row.settings,
    created_at: row.created_at.toISOString(),
  };
}

/** The names that lists show for users. */
export async function namesOfUsers(
  tx: DirectoryTransaction,
  userIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (userIds.length === 0) return new Map();
  const rows = await findNames(tx, userIds);
  return new Map(rows.map((row) => [row.id, nameOf(row)]));
}

/** The names of those users who belong to the tenant. */
export async function namesOfMembers(
  tx: TenantTransaction,
  userIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  return new Map((await findMembersAmong(tx, userIds)).map((row) => [row.id, nameOf(row)]));
}

/** The name to show for a user. */
export function nameOf(row: { readonly name: string | null; readonly email: string }): string {
  return row.name ?? localPartOf(row.email);
}

/** The display name of a user who gave none. */
export function localPartOf(email: string): string {
  return email.slice(0, email.lastIndexOf('@'));
}
