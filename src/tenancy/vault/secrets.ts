import { recordAudit } from '../audit/index.js';
import type { Ids } from '../../kernel/chance.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import { PlatformError } from '../../kernel/errors.js';
import { isUniqueViolation, type Store, type TenantTransaction } from '../../infra/storage/index.js';
import type { DataKeys } from './data-keys.js';
import { open, placeOf, seal } from './envelope.js';
import type { ProviderKeyChanges } from './provider-key-changes.js';
import type { References, SecretReference } from './references.js';
import { absent, identityOf, refuseOddKey, refuseOddValue, type SecretRef } from './secret-rules.js';
import { SecretValue } from './secret-value.js';
import {
  advanceVersion,
  countSecrets,
  deleteSecret,
  findSecret,
  insertSecret,
  insertVersion,
  listAcceptedVersions,
  listProviderKeys,
  listSecrets,
  lockSecret,
  type SecretKind,
  type SecretRow,
  updateAllowedHosts,
  type VersionRow,
} from './secrets.store.js';

/** Per tenant. A list of all fits one reply, and one transaction can replace a data key. */
export const secretsMax = 1_000;
export const graceMsDefault = 24 * 3_600_000;

/** A scope, or an open transaction of that scope. */
export type Where = TenantScope | TenantTransaction;

export interface NewSecret {
  readonly name: string;
  readonly value: string;
  readonly kind: SecretKind;
  readonly provider: string | null;
  readonly allowedHosts: readonly string[] | null;
}

export interface SecretInfo {
  readonly id: string;
  /** Empty for a secret that belongs to a resource of another subject. */
  readonly name: string;
  readonly kind: SecretKind;
  readonly provider: string | null;
  readonly allowedHosts: readonly string[] | null;
  readonly version: number;
}

export interface ResolvedSecret extends SecretInfo {
  readonly value: SecretValue;
}

export interface SecretDetails {
  readonly row: SecretRow & { readonly name: string };
  readonly references: readonly SecretReference[];
}

interface SecretsParts {
  readonly store: Store;
  readonly keys: DataKeys;
  readonly references: References;
  readonly changes: ProviderKeyChanges;
  readonly ids: Ids;
}

/** Creates, reads, changes and deletes secrets of tenants, with an audit entry for each change by a person. */
export class Secrets {
  readonly #parts: SecretsParts;

  constructor(parts: SecretsParts) {
    this.#parts = parts;
  }

  async create(scope: TenantScope, actor: string, secret: NewSecret): Promise<SecretDetails> {
    try {
      return await this.#parts.changes.around(scope, async (tx, announce) => {
        const id = await this.#insertNamed(scope, tx, actor, secret);
        const { name, kind, provider } = secret;
        await this.#audit(scope, tx, actor, 'secret.created', id, { name, kind, provider });
        const details = await this.#details(scope, tx, await this.#named(scope, tx, id));
        await announce(details.row);
        return details;
      });
    } catch (error) {
      if (!isUniqueViolation(error, 'secrets_name')) throw error;
      const message = `A secret with the name ${secret.name} exists already.`;
      throw new PlatformError('conflict', { message, details: { field: 'name' }, cause: error });
    }
  }

  list(
    scope: TenantScope,
    page: { readonly after: string | null; readonly limit: number },
  ): Promise<readonly SecretDetails[]> {
    return this.#parts.store.inTenant(scope, async (tx) => {
      const rows = (await listSecrets(scope, tx, page)).filter(isNamed);
      const references = await this.#parts.references.of(scope, tx, rows);
      return rows.map((row) => ({ row, references: references.get(row.id) ?? [] }));
    });
  }

  get(scope: TenantScope, id: string): Promise<SecretDetails> {
    return this.#parts.store.inTenant(scope, async (tx) =>
      this.#details(scope, tx, await this.#named(scope, tx, id)),
    );
  }

  /** Sets a new value. Callers may authenticate with the previous one for the grace period. */
  setValue(
    scope: TenantScope,
    actor: string,
    id: string,
    value: string,
    graceMs = graceMsDefault,
  ): Promise<SecretDetails> {
    return this.#parts.changes.around(scope, async (tx, announce) => {
      const row = await this.#named(scope, tx, id, 'change');
      refuseOddKey(row.kind, value);
      const version = await this.#advance(scope, tx, row, value, graceMs);
      await this.#audit(scope, tx, actor, 'secret.value-changed', id, { name: row.name, version });
      const details = await this.#details(scope, tx, await this.#named(scope, tx, id));
      await announce(row);
      return details;
    });
  }

  setAllowedHosts(
    scope: TenantScope,
    actor: string,
    id: string,
    hosts: readonly string[] | null,
  ): Promise<SecretDetails> {
    return this.#parts.changes.around(scope, async (tx, announce) => {
      const row = await this.#named(scope, tx, id, 'change');
      await updateAllowedHosts(scope, tx, id, hosts);
      const details = { name: row.name, from: row.allowed_hosts, to: hosts };
      await this.#audit(scope, tx, actor, 'secret.hosts-changed', id, details);
      const changed = await this.#details(scope, tx, await this.#named(scope, tx, id));
      await announce(row);
      return changed;
    });
  }

  /** Refuses while the secret is referenced, unless forced. */
  delete(scope: TenantScope, actor: string, id: string, force: boolean): Promise<void> {
    return this.#parts.changes.around(scope, async (tx, announce) => {
      const row = await this.#named(scope, tx, id, 'change');
      const references = (await this.#parts.references.of(scope, tx, [row])).get(row.id) ?? [];
      if (references.length > 0 && !force) {
        throw new PlatformError('conflict', {
          message: `The secret ${row.name} is in use. Change what uses it, or delete it with force=true.`,
          details: { references: references.slice(0, 20).map(publicReference), count: references.length },
        });
      }
      await deleteSecret(scope, tx, id);
      const used = references.slice(0, 20).map(publicReference);
      await this.#audit(scope, tx, actor, 'secret.deleted', id, { name: row.name, forced: force, used });
      await announce(row);
    });
  }

  /** The secret's metadata; undefined if it does not exist. */
  find(where: Where, ref: SecretRef): Promise<SecretInfo | undefined> {
    return this.#in(where, async (scope, tx) => {
      const row = await findSecret(scope, tx, identityOf(ref));
      return row === null ? undefined : infoOf(row);
    });
  }

  /**
   * Like `find`, for a transaction that stores a reference: the secret cannot be deleted before the transaction ends, and
   * a deletion that waits for it will see the reference.
   */
  async keep(tx: TenantTransaction, ref: SecretRef): Promise<SecretInfo | undefined> {
    const row = await lockSecret(tx.scope, tx, identityOf(ref), 'keep');
    return row === null ? undefined : infoOf(row);
  }

  /** The secret with its current value. `not_found` if it does not exist. */
  resolve(where: Where, ref: SecretRef): Promise<ResolvedSecret> {
    return this.#in(where, async (scope, tx) => {
      const row = await this.#present(scope, tx, ref);
      const [current] = await listAcceptedVersions(scope, tx, row.id);
      if (current === undefined) throw absent(ref);
      return { ...infoOf(row), value: await this.#opened(scope, tx, current) };
    });
  }

  /** All values that are currently accepted, the current one first: for checking a value that a caller presents. */
  resolveAll(where: Where, ref: SecretRef): Promise<readonly SecretValue[]> {
    return this.#in(where, async (scope, tx) => {
      const row = await this.#present(scope, tx, ref);
      const values: SecretValue[] = [];
      for (const version of await listAcceptedVersions(scope, tx, row.id)) {
        values.push(await this.#opened(scope, tx, version));
      }
      return values;
    });
  }

  /** The tenant's own vendor keys, without their values; of several for one vendor the latest comes first. */
  providerKeys(where: Where): Promise<readonly SecretInfo[]> {
    return this.#in(where, async (scope, tx) => (await listProviderKeys(scope, tx)).map(infoOf));
  }

  /**
   * Stores a value under a name, in the transaction of what it belongs to; a secret of this name gets a new value at once.
   * Refused for a vendor's key, whose change other nodes must be told of. The entry of what it belongs to is the one of
   * the request.
   */
  async putNamed(tx: TenantTransaction, actor: string, name: string, value: string): Promise<void> {
    const { scope } = tx;
    refuseOddValue(value);
    const row = await lockSecret(scope, tx, { name }, 'change');
    if (row === null) {
      const plain = { kind: 'generic', provider: null, allowedHosts: null } as const;
      await this.#insertNamed(scope, tx, actor, { ...plain, name, value });
      return;
    }
    if (row.provider !== null) {
      throw new PlatformError('conflict', {
        message: `The secret ${name} is the key of a vendor. Delete it, or give it another name.`,
      });
    }
    await this.#advance(scope, tx, row, value, 0);
  }

  /**
   * Stores a secret for a resource of another subject, such as `database:<id>`. A second call replaces the value; the
   * previous one stays accepted for the grace period. The secret is in no list and has no name. Returns the id.
   */
  async putOwned(
    tx: TenantTransaction,
    owner: string,
    actor: string,
    value: string,
    graceMs = 0,
  ): Promise<string> {
    const { scope } = tx;
    refuseOddValue(value);
    const row = await lockSecret(scope, tx, { owner }, 'change');
    if (row !== null) {
      await this.#advance(scope, tx, row, value, graceMs);
      return row.id;
    }
    const id = this.#parts.ids.uuid();
    const plain = { name: null, provider: null, allowed_hosts: null, kind: 'generic' } as const;
    await insertSecret(scope, tx, { ...plain, id, owner, created_by: actor });
    await this.#insertVersion(scope, tx, id, 1, value);
    return id;
  }

  async deleteOwned(tx: TenantTransaction, owner: string): Promise<void> {
    const row = await findSecret(tx.scope, tx, { owner });
    if (row !== null) await deleteSecret(tx.scope, tx, row.id);
  }

  async #insertNamed(
    scope: TenantScope,
    tx: TenantTransaction,
    actor: string,
    { name, value, kind, provider, allowedHosts }: NewSecret,
  ): Promise<string> {
    if ((await countSecrets(scope, tx)) >= secretsMax) {
      throw new PlatformError('conflict', {
        message: `A tenant holds at most ${secretsMax} secrets. Delete one first.`,
      });
    }
    const id = this.#parts.ids.uuid();
    await insertSecret(scope, tx, {
      id,
      name,
      owner: null,
      kind,
      provider,
      allowed_hosts: allowedHosts === null ? null : [...allowedHosts],
      created_by: actor,
    });
    await this.#insertVersion(scope, tx, id, 1, value);
    return id;
  }

  async #advance(
    scope: TenantScope,
    tx: TenantTransaction,
    row: SecretRow,
    value: string,
    graceMs: number,
  ): Promise<number> {
    const version = row.version + 1;
    await this.#insertVersion(scope, tx, row.id, version, value);
    await advanceVersion(scope, tx, { id: row.id, version, graceMs });
    return version;
  }

  async #insertVersion(
    scope: TenantScope,
    tx: TenantTransaction,
    id: string,
    version: number,
    value: string,
  ): Promise<void> {
    const { id: dataKeyId, key } = await this.#parts.keys.current(scope, tx);
    const place = placeOf(scope, { secret_id: id, version, data_key_id: dataKeyId });
    const plain = Buffer.from(value, 'utf8');
    const sealed = seal(key, plain, place);
    plain.fill(0);
    await insertVersion(scope, tx, { secret_id: id, version, data_key_id: dataKeyId, sealed });
  }

  async #opened(scope: TenantScope, tx: TenantTransaction, row: VersionRow): Promise<SecretValue> {
    const { key } = await this.#parts.keys.get(scope, tx, row.data_key_id);
    const plain = open(key, row.sealed, placeOf(scope, row));
    const value = new SecretValue(plain.toString('utf8'));
    plain.fill(0);
    return value;
  }

  async #present(scope: TenantScope, tx: TenantTransaction, ref: SecretRef): Promise<SecretRow> {
    const row = await findSecret(scope, tx, identityOf(ref));
    if (row === null) throw absent(ref);
    return row;
  }

  /** A secret that a person made, by id. Secrets of resources count as missing. */
  async #named(
    scope: TenantScope,
    tx: TenantTransaction,
    id: string,
    lock?: 'change',
  ): Promise<SecretRow & { readonly name: string }> {
    const row =
      lock === undefined ? await findSecret(scope, tx, { id }) : await lockSecret(scope, tx, { id }, lock);
    if (row === null || !isNamed(row))
      throw new PlatformError('not_found', { message: 'The secret was not found.' });
    return row;
  }

  async #details(
    scope: TenantScope,
    tx: TenantTransaction,
    row: SecretDetails['row'],
  ): Promise<SecretDetails> {
    return { row, references: (await this.#parts.references.of(scope, tx, [row])).get(row.id) ?? [] };
  }

  async #audit(
    { tenantId }: TenantScope,
    tx: TenantTransaction,
    actor: string,
    action: string,
    id: string,
    details: Readonly<Record<string, unknown>>,
  ): Promise<void> {
    await recordAudit(tx, { tenantId, actor, action, subject: `secret:${id}`, details });
  }

  #in<Result>(
    where: Where,
    work: (scope: TenantScope, tx: TenantTransaction) => Promise<Result>,
  ): Promise<Result> {
    if ('scope' in where) return work(where.scope, where);
    return this.#parts.store.inTenant(where, (tx) => work(where, tx));
  }
}

export function publicReference({ type, id, name }: SecretReference): {
  type: string;
  id: string;
  name: string;
} {
  return { type, id, name };
}

function isNamed(row: SecretRow): row is SecretRow & { readonly name: string } {
  return row.name !== null;
}

function infoOf(row: SecretRow): SecretInfo {
  return {
    id: row.id,
    name: row.name ?? '',
    kind: row.kind,
    provider: row.provider,
    allowedHosts: row.allowed_hosts,
    version: row.version,
  };
}
