import type { Ids } from '../../kernel/chance.js';
import type { Time } from '../../../cluster/index.js';
import { recordAudit } from '../../tenancy/audit/index.js';
import type { Role } from '../../kernel/caller.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { Egress } from '../../infra/egress/index.js';
import { invalidField, PlatformError } from '../../kernel/errors.js';
import {
  cursorOfCreated,
  type CutPage,
  cutPage,
  type JsonObject,
  mergePatch,
  optionalLimit,
  pageAsked,
  rowsFor,
  validate,
} from '../../http/operations/index.js';
import type { Store, TenantTransaction } from '../../infra/storage/index.js';
import type { SecretRef, Vault } from '../../tenancy/vault/index.js';
import type { DatabaseSchema } from './catalogue/read-schema.js';
import { AllowedTables } from './catalogue/table-name.js';
import type { Target } from './connection/database-connection.js';
import {
  type ConfigurationContent,
  type ConfigurationRow,
  countConfigurations,
  demotePrimary,
  findChange,
  findConfiguration,
  eraseOldDeleted,
  holdConfigurations,
  insertConfiguration,
  listConfigurations,
  lockConfiguration,
  markDeleted,
  storeSchema,
  type SummaryRow,
  updateConfiguration,
} from './configurations.store.js';
import {
  type Approval,
  approvalFor,
  approvalToStore,
  noApproval,
  ownerOf,
  ownPassword,
  type PasswordSource,
  placeOfDatabase,
} from './passwords.js';
import { type ConfigurationDocument, configurationDocument, credentialFields } from './shapes.js';

/** The limit per tenant, without deleted ones. A list of all is returned in one response. */
const configurationsMax = 1_000;
/** Deleted configurations that a tenant can still see. */
const deletedMax = 1_000;

export interface ConfigurationsParts {
  readonly store: Store;
  readonly vault: Pick<Vault, 'keep' | 'resolve' | 'putOwned' | 'deleteOwned'>;
  readonly egress: Pick<Egress, 'checkHost'>;
  readonly time: Time;
  readonly ids: Ids;
}

/** The author of a creation or change. */
export interface Editor {
  readonly scope: TenantScope;
  /** As audit entries name the author. */
  readonly actor: string;
  readonly role: Role;
}

export interface ListFilter {
  readonly includeDeleted: boolean;
  readonly activeOnly: boolean;
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

/** What is needed to read a configured database. */
export interface Readable {
  readonly id: string;
  readonly revision: number;
  /** The time of the last change to any part of the configuration. */
  readonly changedAt: Date;
  readonly isActive: boolean;
  readonly target: Target;
  readonly allowed: AllowedTables;
}

const at = 'connection_config.';

/** The configured databases of tenants. */
export class Configurations {
  readonly #parts: ConfigurationsParts;

  constructor(parts: ConfigurationsParts) {
    this.#parts = parts;
  }

  async create(editor: Editor, fields: JsonObject): Promise<ConfigurationRow> {
    const { scope, actor } = editor;
    const document = this.#checked(mergePatch({}, fields));
    return this.#parts.store.inTenant(scope, async (tx) => {
      await holdConfigurations(scope, tx);
      if ((await countConfigurations(scope, tx)) >= configurationsMax) {
        throw new PlatformError('conflict', {
          message: `A tenant can have at most ${configurationsMax} database configurations. Delete one first.`,
        });
      }
      const id = this.#parts.ids.uuid();
      const now = this.#now();
      const content = await this.#content(editor, tx, id, document, null);
      if (content.is_primary) await demotePrimary(scope, tx, id, now);
      const row = await insertConfiguration(scope, tx, { id, by: actor, at: now, content });
      await this.#audit(tx, actor, 'created', row);
      return row;
    });
  }

  get(scope: TenantScope, id: string): Promise<ConfigurationRow> {
    return this.#parts.store.inTenant(scope, async (tx) => present(await findConfiguration(scope, tx, id)));
  }

  /** All, or a page if `limit` or `cursor` is given; newest first. */
  async list(scope: TenantScope, filter: ListFilter): Promise<CutPage<SummaryRow>> {
    const behind = pageAsked(filter).after;
    const limit = optionalLimit(filter);
    const found = await this.#parts.store.inTenant(scope, (tx) =>
      listConfigurations(scope, tx, { ...filter, behind, limit: rowsFor(limit) }),
    );
    return cutPage(found, limit, cursorOfCreated);
  }

  update(editor: Editor, id: string, patch: JsonObject): Promise<ConfigurationRow> {
    const { scope, actor } = editor;
    return this.#parts.store.inTenant(scope, async (tx) => {
      // Locked before the row, in the same order as a change of the primary configuration.
      await holdConfigurations(scope, tx);
      const row = present(await lockConfiguration(scope, tx, id));
      const document = this.#checked(mergePatch(startOf(row, patch), patch), row);
      const content = await this.#content(editor, tx, id, document, row);
      const now = this.#now();
      if (content.is_primary) await demotePrimary(scope, tx, id, now);
      const stale = readsOtherwise(row, content);
      const changed = await updateConfiguration(scope, tx, id, { content, at: now, stale });
      await this.#audit(tx, actor, 'updated', changed);
      return changed;
    });
  }

  /** Deletes it. It stays in lists that include deleted ones; its password is erased. */
  delete({ scope, actor }: Editor, id: string): Promise<void> {
    return this.#parts.store.inTenant(scope, async (tx) => {
      await holdConfigurations(scope, tx);
      const row = present(await lockConfiguration(scope, tx, id));
      await this.#parts.vault.deleteOwned(tx, ownerOf(id));
      await markDeleted(scope, tx, id, this.#now());
      await eraseOldDeleted(scope, tx, deletedMax);
      await this.#audit(tx, actor, 'deleted', row);
    });
  }

  /** The database with its password. The secret's permissions are checked again, since they may have changed. */
  readable(scope: TenantScope, id: string): Promise<Readable> {
    const { store, vault } = this.#parts;
    return store.inTenant(scope, async (tx) => {
      const row = present(await findConfiguration(scope, tx, id));
      const source = sourceOf(row);
      await approvalToStore(vault, tx, {
        source,
        place: placeOfDatabase(row),
        role: null,
        before: approvalOf(row),
        isUnchanged: true,
        at,
      });
      const { value: password } = await vault.resolve(tx, secretOf(row));
      const { host, port, ssl, database_name: database, username } = row;
      return {
        id,
        revision: row.target_revision,
        changedAt: row.updated_at,
        isActive: row.is_active,
        target: { host, port, ssl, database, username, password },
        allowed: new AllowedTables(row.allowed_tables),
      };
    });
  }

  /** Whether nothing has changed since. `not_found` if it was deleted. */
  async isUnchanged(scope: TenantScope, { id, changedAt }: Readable): Promise<boolean> {
    const at = await this.#parts.store.inTenant(scope, (tx) => findChange(scope, tx, id));
    if (at === null) throw notFound();
    return at.getTime() === changedAt.getTime();
  }

  /** Stores the schema that was read, unless the configuration has changed so that it no longer applies. */
  async keepSchema(scope: TenantScope, { id, revision }: Readable, schema: DatabaseSchema): Promise<Date> {
    const readAt = this.#now();
    const kept = await this.#parts.store.inTenant(scope, (tx) =>
      storeSchema(scope, tx, { id, revision, schema, at: readAt }),
    );
    if (kept) return readAt;
    throw new PlatformError('conflict', {
      message: 'The configuration was changed while the schema was being read. Refresh the schema again.',
    });
  }

  #checked(fields: JsonObject, kept?: ConfigurationRow): ConfigurationDocument {
    const document = validate(configurationDocument, fields) as ConfigurationDocument;
    const connection = document.connection_config;
    const named = credentialFields.filter((name) => connection[name] !== undefined);
    const [, second] = named;
    if (second !== undefined) {
      throw invalidField(
        `${at}${second}`,
        'stands beside another source of the password; only one can be used',
      );
    }
    if (named.length === 0 && (kept?.own_secret_id ?? null) === null) throw missingPassword();
    this.#parts.egress.checkHost(connection.host, connection.port, `${at}host`);
    return document;
  }

  /** The row to store. Puts the password into the vault, or removes one that is no longer used. */
  async #content(
    { role, actor }: Editor,
    tx: TenantTransaction,
    id: string,
    document: ConfigurationDocument,
    before: ConfigurationRow | null,
  ): Promise<ConfigurationContent> {
    const { vault } = this.#parts;
    const { password, password_secret_ref, vault_secret_id, database, ...place } = document.connection_config;
    const source: PasswordSource =
      password_secret_ref ?? (vault_secret_id === undefined ? ownPassword : { vault_secret_id });
    const approved =
      password === undefined
        ? await approvalToStore(vault, tx, {
            source,
            place: placeOfDatabase(place),
            role,
            before: before === null ? noApproval : approvalOf(before),
            isUnchanged:
              before !== null && isSamePlace(before, place) && isSameSource(sourceOf(before), source),
            at,
          })
        : approvalFor(ownPassword, placeOfDatabase(place));
    let own = source === ownPassword ? (before?.own_secret_id ?? null) : null;
    if (password !== undefined) own = await vault.putOwned(tx, ownerOf(id), actor, password);
    if (source !== ownPassword && before?.own_secret_id != null) await vault.deleteOwned(tx, ownerOf(id));
    return {
      name: document.name,
      description: document.description,
      ...place,
      database_name: database,
      secret_name: password_secret_ref ?? null,
      secret_id: vault_secret_id ?? null,
      own_secret_id: own,
      approved_for: approved.pair,
      approved_place: approved.place,
      allowed_tables: document.settings.allowed_tables ?? null,
      is_primary: document.is_primary,
      is_active: document.is_active,
    };
  }

  async #audit(tx: TenantTransaction, actor: string, verb: string, row: ConfigurationRow): Promise<void> {
    const { tenantId } = tx.scope;
    const { name, host, port, database_name: database, is_primary, is_active } = row;
    const details = { name, host, port, database, is_primary, is_active };
    const subject = `database_config:${row.id}`;
    await recordAudit(tx, { tenantId, actor, action: `database_config.${verb}`, subject, details });
  }

  #now(): Date {
    return new Date(this.#parts.time.wallMs());
  }
}

/** The starting point of a patch. A password source in the patch replaces the previous one. */
function startOf(row: ConfigurationRow, patch: JsonObject): JsonObject {
  const given = patch['connection_config'];
  const replaced =
    typeof given === 'object' &&
    given !== null &&
    credentialFields.some((name) => (Reflect.get(given, name) ?? null) !== null);
  const { host, port, database_name: database, username, ssl, secret_name, secret_id } = row;
  return {
    name: row.name,
    description: row.description,
    connection_config: {
      host,
      port,
      database,
      username,
      ssl,
      ...(replaced || secret_name === null ? {} : { password_secret_ref: secret_name }),
      ...(replaced || secret_id === null ? {} : { vault_secret_id: secret_id }),
    },
    settings: row.allowed_tables === null ? {} : { allowed_tables: row.allowed_tables },
    is_primary: row.is_primary,
    is_active: row.is_active,
  };
}

/** Whether the patch changes the database, or which of its tables are visible. */
function readsOtherwise(row: ConfigurationRow, content: ConfigurationContent): boolean {
  return (
    row.host !== content.host ||
    row.port !== content.port ||
    row.database_name !== content.database_name ||
    JSON.stringify(row.allowed_tables) !== JSON.stringify(content.allowed_tables)
  );
}

function approvalOf({ approved_for: pair, approved_place: place }: ConfigurationRow): Approval {
  return { pair, place };
}

type Reached = Pick<ConfigurationRow, 'host' | 'port' | 'ssl'>;

function isSamePlace(one: Reached, other: Reached): boolean {
  return one.host === other.host && one.port === other.port && one.ssl === other.ssl;
}

function isSameSource(one: PasswordSource, other: PasswordSource): boolean {
  if (typeof one !== 'object' || typeof other !== 'object') return one === other;
  return one.vault_secret_id.toLowerCase() === other.vault_secret_id.toLowerCase();
}

function sourceOf({ secret_name, secret_id }: ConfigurationRow): PasswordSource {
  return secret_name ?? (secret_id === null ? ownPassword : { vault_secret_id: secret_id });
}

function secretOf(row: ConfigurationRow): SecretRef {
  return row.secret_name ?? { vault_secret_id: row.secret_id ?? row.own_secret_id ?? '' };
}

export function missingPassword(prefix = at): PlatformError {
  const field = `${prefix}password`;
  return new PlatformError('missing_required_field', {
    message: `${field} or ${prefix}password_secret_ref is required.`,
    details: { field, issue: 'required' },
  });
}

function present(row: ConfigurationRow | null): ConfigurationRow {
  if (row === null) throw notFound();
  return row;
}

function notFound(): PlatformError {
  return new PlatformError('not_found', { message: 'The database configuration was not found.' });
}
