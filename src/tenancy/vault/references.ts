import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { TenantTransaction } from '../../infra/storage/index.js';

/** A resource of the tenant that uses a secret. */
export interface SecretReference {
  readonly secretId: string;
  /** The kind of the resource: `trigger`, `agent_schema`, `database_config` … */
  readonly type: string;
  readonly id: string;
  readonly name: string;
}

/**
 * Finds the resources that reference the given secrets, by name or by id. Each subject with secret references registers
 * one. It must read in the given transaction, so that a deletion checks and deletes at the same moment.
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
    // Sequential: a transaction has one connection.
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
