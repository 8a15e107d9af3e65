import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { TenantTransaction } from '../../infra/storage/index.js';

/** A thing of the tenant that uses a secret. */
export interface SecretReference {
  readonly secretId: string;
  /** The kind of thing: `trigger`, `agent_schema`, `database_config` … */
  readonly type: string;
  readonly id: string;
  readonly name: string;
}

/**
 * Looks up who uses the given secrets, by name or by id. Each subject that takes secret references hands one in; it
 * must read in the given transaction, so that a deletion judges the same moment that it deletes in.
 */
export type ReferenceFinder = (
  scope: TenantScope,
  tx: TenantTransaction,
  secrets: readonly { readonly id: string; readonly name: string }[],
) => Promise<readonly SecretReference[]>;

export class References {
  readonly #finders: ReferenceFinder[] = [];

  add(finder: ReferenceFinder): void {
    this.#finders.push(finder);
  }

  /** By secret id. */
  async of(
    scope: TenantScope,
    tx: TenantTransaction,
    secrets: readonly { readonly id: string; readonly name: string }[],
  ): Promise<ReadonlyMap<string, readonly SecretReference[]>> {
    const found = new Map<string, SecretReference[]>();
    if (secrets.length === 0) return found;
    // One after the other: a transaction has one connection.
    for (const finder of this.#finders) {
      for (const reference of await finder(scope, tx, secrets)) {
        const others = found.get(reference.secretId);
        if (others === undefined) found.set(reference.secretId, [reference]);
        else others.push(reference);
      }
    }
    return found;
  }
}
