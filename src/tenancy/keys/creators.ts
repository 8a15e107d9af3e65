import { isUuid } from '../../kernel/uuid.js';
import { namesOfUsers } from '../identity/index.js';
import { findKeyNames } from './keys.store.js';
import type { Store, TenantTransaction } from '../../infra/storage/index.js';

/** Who made a key. `id` is null for the operator and for the platform itself. */
export interface Creator {
  readonly id: string | null;
  readonly name: string;
}

/**
 * Names the creators of keys. A creator may have left the tenant, which then no longer sees the user: names come from the
 * directory. `keyNames`: the names of the tenant's keys that made keys.
 */
export async function creatorsOf(
  store: Store,
  actors: readonly string[],
  keyNames: ReadonlyMap<string, string>,
): Promise<(actor: string) => Creator> {
  const users = await store.directory((tx) => namesOfUsers(tx, idsOf('user', actors)));
  return (actor) => {
    const [kind = '', id] = actor.split(':');
    if (id === undefined || !isUuid(id)) return { id: null, name: kind };
    const name = kind === 'user' ? users.get(id) : keyNames.get(id);
    return { id, name: name ?? actor };
  };
}

/** The ids among the actors of one kind, each once. */
export function idsOf(kind: 'user' | 'key', actors: readonly string[]): readonly string[] {
  const prefix = `${kind}:`;
  const ids = actors.filter((actor) => actor.startsWith(prefix)).map((actor) => actor.slice(prefix.length));
  return [...new Set(ids.filter(isUuid))];
}

/** The names of the tenant's keys, also of revoked ones. */
export async function namesOfKeys(
  tx: TenantTransaction,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  return new Map((await findKeyNames(tx, ids)).map(({ id, name }) => [id, name]));
}
