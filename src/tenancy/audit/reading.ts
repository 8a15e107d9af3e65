import { z } from 'zod';
import type { Store } from '../../infra/storage/index.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import { isUuid } from '../../kernel/uuid.js';
import { type EntryFilter, type EntryRow, listEntries, subjectsOfActs } from './reading.store.js';
import { named } from '../../http/operations/index.js';

/** The names of users and keys, from their owners. */
export interface Names {
  readonly users: (ids: readonly string[]) => Promise<ReadonlyMap<string, string>>;
  /** Of users who belong to the tenant. */
  readonly members: (scope: TenantScope, ids: readonly string[]) => Promise<ReadonlyMap<string, string>>;
  readonly keys: (scope: TenantScope, ids: readonly string[]) => Promise<ReadonlyMap<string, string>>;
}

const kinds = ['user', 'key', 'operator', 'system'] as const;

export const entryShape = named(
  'AuditEntry',
  z.object({
    id: z.uuid(),
    at: z.iso.datetime(),
    actor: z.object({ kind: z.enum(kinds), id: z.string().nullable(), name: z.string() }),
    action: z.string(),
    target: z.object({ kind: z.string(), id: z.string().nullable(), name: z.string().nullable() }),
    address: z.string().nullable(),
    request_id: z.string().nullable(),
    changes: z.record(z.string(), z.object({ old: z.unknown(), new: z.unknown() })),
    outcome: z.enum(['done', 'refused']),
  }),
);
export type Entry = z.input<typeof entryShape>;

export class AuditReading {
  readonly #store: Store;
  readonly #names: Names;

  constructor(store: Store, names: Names) {
    this.#store = store;
    this.#names = names;
  }

  rows(scope: TenantScope, filter: EntryFilter): Promise<readonly EntryRow[]> {
    return this.#store.inTenant(scope, (tx) => listEntries(tx, filter));
  }

  /** With the names that actors and targets have now: an entry outlives the name of a deleted user. */
  async entries(scope: TenantScope, rows: readonly EntryRow[]): Promise<readonly Entry[]> {
    const attempts = rows.filter(({ outcome }) => outcome === 'refused');
    const acts = rows.filter(({ outcome }) => outcome === 'done');
    const attempted = [...new Set(attempts.map(({ subject }) => subject))];
    const own = await this.#ownUsers(scope, attempted);
    const known = [...rows.map(({ actor }) => actor), ...acts.map(({ subject }) => subject), ...own];
    const [users, members, keys] = await Promise.all([
      namesOf('user', known, this.#names.users),
      // Whoever was refused wrote the id of the target: it may be that of a user of other tenants.
      namesOf('user', attempted, (ids) => this.#names.members(scope, ids)),
      namesOf('key', [...known, ...attempted], (ids) => this.#names.keys(scope, ids)),
    ]);
    return rows.map((row) =>
      entryFrom(row, { users, members, keys }, row.outcome === 'done' || own.has(row.subject)),
    );
  }

  /** Users of whom the tenant has an act, such as the user's deletion: they were its members, also if they are no more. */
  async #ownUsers(scope: TenantScope, subjects: readonly string[]): Promise<ReadonlySet<string>> {
    const users = subjects.filter((subject) => thingFrom(subject).kind === 'user');
    if (users.length === 0) return new Set();
    return new Set(await this.#store.inTenant(scope, (tx) => subjectsOfActs(tx, users)));
  }
}

type NamesById = ReadonlyMap<string, string>;

async function namesOf(
  kind: string,
  subjects: readonly string[],
  find: (ids: readonly string[]) => Promise<NamesById>,
): Promise<NamesById> {
  const things = subjects.map(thingFrom);
  const ids = things.flatMap((one) =>
    one.kind === kind && one.id !== null && isUuid(one.id) ? [one.id] : [],
  );
  return ids.length === 0 ? new Map() : find([...new Set(ids)]);
}

function entryFrom(
  row: EntryRow,
  names: Readonly<Record<'users' | 'members' | 'keys', NamesById>>,
  isOwnTarget: boolean,
): Entry {
  const actor = thingFrom(row.actor);
  const target = thingFrom(row.subject);
  const kind = kinds.find((one) => one === actor.kind) ?? 'system';
  const nameOf = ({ kind: of, id }: Thing, isKnown: boolean): string | undefined => {
    if (id === null) return undefined;
    if (of === 'key') return names.keys.get(id);
    if (of !== 'user') return undefined;
    return isKnown ? (names.users.get(id) ?? 'deleted user') : names.members.get(id);
  };
  return {
    id: row.id,
    at: row.recorded_at.toISOString(),
    actor: { kind, id: actor.id, name: nameOf(actor, true) ?? actor.id ?? actor.kind },
    action: row.action,
    target: { ...target, name: nameOf(target, isOwnTarget) ?? row.target_name },
    address: row.address,
    request_id: row.request_id,
    changes: row.changes,
    outcome: row.outcome,
  };
}

interface Thing {
  readonly kind: string;
  readonly id: string | null;
}

/** `key:0b7e…`, or a kind alone. */
function thingFrom(text: string): Thing {
  const at = text.indexOf(':');
  const id = at === -1 ? '' : text.slice(at + 1);
  return { kind: at === -1 ? text : text.slice(0, at), id: id === '' ? null : id };
}
