import { z } from 'zod';
import { databaseSchema } from './catalogue/read-schema.js';
import { tableNameOf } from './catalogue/table-name.js';
import { givenGuid, isJsonObject, named } from '../../http/operations/index.js';

const tablesMax = 1_000;

/** These values are part of the sign-in message, where a NUL would end a field; names contain no control characters. */
function plainText(lengthMax: number) {
  return z
    .string()
    .min(1)
    .max(lengthMax)
    .regex(/^[^\p{Cc}]*$/u, 'must not hold control characters')
    .refine((text) => text.isWellFormed(), 'holds characters that cannot be stored');
}

const host = z
  .string()
  .min(1)
  .max(255)
  .regex(/^[^\s\p{Cc}/?#@\\]+$/u, 'must be a host name or address');
const port = z.int().min(1).max(65_535);
const password = z.string().min(1).max(16_384).meta({ writeOnly: true });
const secretName = z.string().regex(/^[A-Za-z0-9_.-]{1,64}$/, 'must be the name of a secret');

/** The location of a database and its user, shared by configurations and ad-hoc requests. */
const place = {
  host,
  port: port.default(5_432),
  database: plainText(255),
  username: plainText(255),
  ssl: z.boolean().default(false).describe('Whether to use TLS with a verified certificate for the host.'),
};

/** Exactly one of the three. */
const credential = {
  password: password.optional().describe('Stored in the vault and never returned.'),
  password_secret_ref: secretName.optional().describe('The name of a secret that holds the password.'),
  vault_secret_id: givenGuid.optional().describe('The id of a secret that holds the password.'),
};
export const credentialFields = ['password', 'password_secret_ref', 'vault_secret_id'] as const;

const allowedTables = z
  .array(
    z.string().refine((text) => tableNameOf(text) !== undefined, 'must be a table in the form schema.table'),
  )
  .max(tablesMax)
  .describe('As `schema.table`. If omitted, all tables but the system’s; if empty, none.');

const labels = {
  name: z
    .string()
    .trim()
    .min(1)
    .max(255)
    .refine((text) => text.isWellFormed() && !text.includes('\0')),
  description: z
    .string()
    .max(10_000)
    .refine((text) => text.isWellFormed() && !text.includes('\0')),
  provider: z.literal('postgresql', { error: 'must be postgresql' }),
};
const flags = { is_primary: z.boolean(), is_active: z.boolean() };

/** Unknown names are refused: a typo could leave tables open, or the connection unencrypted. */
const connectionConfig = z.strictObject({ ...place, ...credential });
const settings = z.strictObject({ allowed_tables: allowedTables.optional() });

/** A complete configuration: a patch is merged into it, and it is validated on creation and change. */
export const configurationDocument = z.object({
  name: labels.name,
  description: labels.description.default(''),
  provider: labels.provider.default('postgresql'),
  connection_config: connectionConfig,
  settings: settings.default({}),
  is_primary: flags.is_primary.default(false),
  is_active: flags.is_active.default(true),
});
export type ConfigurationDocument = z.output<typeof configurationDocument>;

const nullish = (shape: Readonly<Record<string, z.ZodType>>) =>
  Object.fromEntries(Object.entries(shape).map(([name, field]) => [name, field.nullish()]));

const givenConnection = z.strictObject(nullish({ ...place, port, ssl: z.boolean(), ...credential }));
const { database, username } = place;
/** Null is as good as absent. */
const newConnection = z.preprocess(
  (given) =>
    isJsonObject(given)
      ? Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null))
      : given,
  givenConnection.extend({ host, database, username }),
);
const givenSettings = z.strictObject({ allowed_tables: allowedTables.nullish() });

export const newConfiguration = named(
  'NewDatabaseConfig',
  z.object({
    name: labels.name,
    description: labels.description.nullish(),
    provider: labels.provider.nullish(),
    connection_config: newConnection,
    settings: givenSettings.nullish(),
    is_primary: flags.is_primary.nullish(),
    is_active: flags.is_active.nullish(),
  }),
);

export const configurationPatch = named(
  'DatabaseConfigPatch',
  z
    .object({
      name: labels.name.optional(),
      description: labels.description.nullish(),
      provider: labels.provider.nullish(),
      connection_config: givenConnection.optional(),
      settings: givenSettings.nullish(),
      is_primary: flags.is_primary.nullish(),
      is_active: flags.is_active.nullish(),
    })
    .describe('A JSON Merge Patch (RFC 7396). An omitted password stays unchanged.'),
);

/** A database that is not stored as a configuration. */
export const givenDatabase = named(
  'GivenDatabase',
  z.strictObject({
    ...place,
    ...credential,
    allowed_tables: allowedTables.nullish(),
  }),
);
export type GivenDatabase = z.output<typeof givenDatabase>;

export const configurationSummary = named(
  'DatabaseConfig',
  z.object({
    id: z.uuid(),
    name: z.string(),
    provider: z.literal('postgresql'),
    is_primary: z.boolean(),
    is_active: z.boolean(),
    created_at: z.iso.datetime(),
    deleted_at: z.iso.datetime().nullable().optional().describe('With `includeDeleted` only.'),
  }),
);

export const configurationDetail = named(
  'DatabaseConfigDetail',
  z.object({
    id: z.uuid(),
    name: z.string(),
    description: z.string(),
    provider: z.literal('postgresql'),
    connection_config: z.object({
      host: z.string(),
      port: z.int(),
      database: z.string(),
      username: z.string(),
      ssl: z.boolean(),
      password_secret_ref: z.string().optional(),
      vault_secret_id: z.string().optional(),
    }),
    settings: z.object({ allowed_tables: z.array(z.string()).optional() }),
    is_primary: z.boolean(),
    is_active: z.boolean(),
    schema: databaseSchema.nullable().describe('The schema as last read.'),
    last_refresh: z.iso.datetime().nullable(),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
  }),
);
