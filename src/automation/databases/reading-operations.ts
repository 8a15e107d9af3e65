import { z } from 'zod';
import type { Time } from '../../../cluster/index.js';
import type { TenantCaller } from '../../kernel/caller.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import { invalidField } from '../../kernel/errors.js';
import { declare, type Operation, tenantUser, givenUuid } from '../../http/operations/index.js';
import type { Store } from '../../infra/storage/index.js';
import type { SecretRef, Vault } from '../../tenancy/vault/index.js';
import { SecretValue } from '../../tenancy/vault/index.js';
import { discover, discoveredSchema } from './catalogue/discover.js';
import { databaseSchema, readSchema } from './catalogue/read-schema.js';
import { AllowedTables } from './catalogue/table-name.js';
import { tryTable } from './catalogue/try-table.js';
import { type Configurations, missingPassword } from './configurations.js';
import type { Connections } from './connection/connections.js';
import type { Target } from './connection/database-connection.js';
import { approvalToStore, noApproval, placeOfDatabase } from './passwords.js';
import { credentialFields, type GivenDatabase, givenDatabase } from './shapes.js';

export interface ReadingParts {
  readonly configurations: Configurations;
  readonly connections: Connections;
  readonly store: Store;
  readonly vault: Pick<Vault, 'keep' | 'resolve'>;
  readonly time: Time;
}

const params = z.object({ id: givenUuid });
const hourMs = 3_600_000;
const freshForHours = 24;

export function readingOperations(parts: ReadingParts): readonly Operation[] {
  return [...schemaOperations(parts), ...trialOperations(parts)];
}

/** Read stored configurations. */
function schemaOperations({ configurations, connections, time }: ReadingParts): readonly Operation[] {
  return [
    declare({
      name: 'databases.refresh-schema',
      method: 'POST',
      audit: 'databases.refresh-schema',
      idempotency: { exempt: 'a repeat reads the tables again' },
      path: '/api/database-configs/:id/refresh-schema',
      title: 'Read the tables and columns again',
      description: 'Reads the allowed tables over a read-only connection, within 10 seconds.',
      access: tenantUser('databases:update'),
      params,
      output: z.object({
        success: z.literal(true),
        schema: databaseSchema,
        refreshed_at: z.iso.datetime(),
      }),
      errors: ['not_found', 'conflict', 'insufficient_permissions', 'provider_error', 'service_unavailable'],
      handle: async ({ caller, params: { id }, signal: asker }) => {
        const readable = await configurations.readable(caller.scope, id);
        const schema = await connections.ask(caller.scope, readable.target, asker, (connection, signal) =>
          readSchema(connection, signal, readable.allowed),
        );
        const refreshedAt = await configurations.keepSchema(caller.scope, readable, schema);
        return { success: true, schema, refreshed_at: refreshedAt.toISOString() } as const;
      },
    }),
    declare({
      name: 'databases.freshness',
      method: 'GET',
      path: '/api/database-configs/:id/freshness',
      title: 'How long ago the schema was read',
      description: `The schema is stale after ${freshForHours} hours, and if it was never read.`,
      access: tenantUser('databases:read'),
      params,
      output: z.object({
        success: z.literal(true),
        needs_refresh: z.boolean(),
        last_refresh: z.iso.datetime().nullable(),
        age_hours: z.number().nullable(),
      }),
      errors: ['not_found'],
      handle: async ({ caller, params: { id } }) => {
        const { schema_read_at: readAt } = await configurations.get(caller.scope, id);
        if (readAt === null) {
          return { success: true, needs_refresh: true, last_refresh: null, age_hours: null } as const;
        }
        // Another node's clock may be slightly ahead.
        const ageHours = Math.max(0, time.wallMs() - readAt.getTime()) / hourMs;
        return {
          success: true,
          needs_refresh: ageHours >= freshForHours,
          last_refresh: readAt.toISOString(),
          age_hours: Math.round(ageHours * 100) / 100,
        } as const;
      },
    }),
  ];
}

/** How one trial of a database went. */
const trialShape = z.object({
  success: z.literal(true),
  latency_ms: z.number().describe('The time from the name lookup to the first response.'),
  tested_table: z.string().nullable(),
  tested_table_accessible: z.boolean(),
});

async function trialOf(
  { connections, time }: ReadingParts,
  scope: TenantScope,
  { target, allowed }: { readonly target: Target; readonly allowed: AllowedTables },
  asker: AbortSignal,
) {
  const startedAtMs = time.monotonicMs();
  const trial = await connections.ask(scope, target, asker, (connection, signal) =>
    tryTable(connection, signal, time, allowed),
  );
  return {
    success: true,
    latency_ms: Math.round(trial.answeredAtMs - startedAtMs),
    tested_table: trial.testedTable,
    tested_table_accessible: trial.accessible,
  } as const;
}

/** Read databases that a request describes, before they are configured, and try one that is. */
function trialOperations(parts: ReadingParts): readonly Operation[] {
  const { configurations, connections, time } = parts;
  const errors = ['insufficient_permissions', 'provider_error', 'service_unavailable'] as const;
  return [
    declare({
      name: 'databases.test',
      method: 'POST',
      audit: { exempt: 'a check that changes nothing' },
      path: '/api/db/test-postgres',
      title: 'Try a connection and one allowed table',
      description: 'Read-only, within 10 seconds. Without `allowed_tables` any table is tried.',
      access: tenantUser('databases:update'),
      body: givenDatabase,
      output: trialShape,
      errors,
      handle: async ({ caller, body, signal }) => {
        const target = await targetOf(parts, caller, body);
        const allowed = new AllowedTables(body.allowed_tables ?? null);
        return trialOf(parts, caller.scope, { target, allowed }, signal);
      },
    }),
    declare({
      name: 'databases.test-stored',
      method: 'POST',
      audit: { exempt: 'a check that changes nothing' },
      path: '/api/database-configs/:id/test',
      title: 'Try the connection of a configuration and one of its allowed tables',
      description: 'With the stored password. Read-only, within 10 seconds.',
      access: tenantUser('databases:update'),
      params,
      output: trialShape,
      errors: ['not_found', ...errors],
      handle: async ({ caller, params: { id }, signal }) => {
        const readable = await configurations.readable(caller.scope, id);
        return trialOf(parts, caller.scope, readable, signal);
      },
    }),
    declare({
      name: 'databases.discover',
      method: 'POST',
      audit: { exempt: 'a reading that changes nothing' },
      path: '/api/db/discover-postgres-schema',
      title: 'List the schemas, tables and views of a reachable database',
      description:
        'Read-only, within 10 seconds. Rows are counted in small tables; other counts are PostgreSQL’s estimates.',
      access: tenantUser('databases:update'),
      body: givenDatabase,
      output: z.object({
        success: z.literal(true),
        schemas: z.array(discoveredSchema),
        duration_ms: z.number(),
        truncated: z
          .literal(true)
          .optional()
          .describe('Set if there are more tables than one response lists.'),
      }),
      errors,
      handle: async ({ caller, body, signal: asker }) => {
        const target = await targetOf(parts, caller, body);
        const startedAtMs = time.monotonicMs();
        const { schemas, truncated } = await connections.ask(
          caller.scope,
          target,
          asker,
          (connection, signal) =>
            discover(connection, signal, time, new AllowedTables(body.allowed_tables ?? null)),
        );
        return {
          success: true,
          schemas,
          duration_ms: Math.round(time.monotonicMs() - startedAtMs),
          ...(truncated ? { truncated } : {}),
        } as const;
      },
    }),
  ];
}

/** The database that a request describes. A secret is sent only where its list, or the caller's role, allows. */
async function targetOf(
  { store, vault }: ReadingParts,
  { scope, role }: TenantCaller,
  body: GivenDatabase,
): Promise<Target> {
  const { host, port, ssl, database, username, password } = body;
  const [first, second] = credentialFields.filter((name) => body[name] !== undefined);
  if (first === undefined) throw missingPassword('');
  if (second !== undefined) {
    throw invalidField(second, 'must not be combined with another source of the password');
  }
  const place = { host, port, ssl, database, username };
  if (password !== undefined) return { ...place, password: new SecretValue(password) };
  const source: SecretRef = body.password_secret_ref ?? { vault_secret_id: body.vault_secret_id ?? '' };
  return store.inTenant(scope, async (tx) => {
    const change = {
      source,
      place: placeOfDatabase(place),
      role,
      before: noApproval,
      isUnchanged: false,
      at: '',
    };
    await approvalToStore(vault, tx, change);
    return { ...place, password: (await vault.resolve(tx, source)).value };
  });
}
