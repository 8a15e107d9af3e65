import diff from 'microdiff';
import { PlatformError } from '../kernel/errors.js';
import type { Store } from '../infra/storage/index.js';
import { recordAudit } from '../tenancy/audit/index.js';
import { lockEditable, present } from './agents.js';
import { findAgent } from './agents.store.js';
import type { Author } from './author.js';
import { foundVersion, madeVersion } from './publishing.js';
import { listSchemas } from './schemas/schemas.store.js';
import { schemaDocumentOf, type Snapshot, snapshotOf } from './snapshot.js';
import { existsBelow, findVersion, insertVersion, listVersions, type VersionRow } from './versions.store.js';

export interface Difference {
  readonly path: string;
  readonly kind: 'added' | 'removed' | 'changed';
  readonly from?: unknown;
  readonly to?: unknown;
}

/** A version's number, or the working copy. */
export type Side = number | 'draft';

/** Snapshots, which never change. `publishing.ts` makes one the published version. */
export class Versions {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /** `next` is the cursor of the next page, null when there is none. */
  list(
    author: Author,
    agentId: string,
    page: { readonly before: number | undefined; readonly limit: number },
  ): Promise<{ readonly versions: readonly VersionRow[]; readonly next: number | null }> {
    const { scope } = author;
    return this.#store.inTenant(scope, async (tx) => {
      present(await findAgent(scope, tx, agentId, 'working-copy'));
      const versions = await listVersions(scope, tx, agentId, page);
      const last = versions.at(-1)?.version;
      const more = last !== undefined && (await existsBelow(scope, tx, agentId, last));
      return { versions, next: more ? last : null };
    });
  }

  get(author: Author, agentId: string, version: number): Promise<VersionRow> {
    const { scope } = author;
    return this.#store.inTenant(scope, async (tx) => {
      present(await findAgent(scope, tx, agentId, 'working-copy'));
      return foundVersion(await findVersion(scope, tx, agentId, version));
    });
  }

  /** Stores a snapshot of the working copy under a name. The published version stays as it is. */
  create(author: Author, agentId: string, name: string | undefined): Promise<VersionRow> {
    const { scope } = author;
    return this.#store.inTenant(scope, async (tx) => {
      const agent = await lockEditable(scope, tx, agentId);
      const version = agent.last_version + 1;
      const row = await insertVersion(scope, tx, {
        agentId,
        version,
        name: name ?? `Version ${version}`,
        snapshot: snapshotOf(agent.document, await listSchemas(scope, tx, agentId)),
        createdBy: author.id,
      });
      await recordAudit(tx, {
        tenantId: scope.tenantId,
        actor: author.actor,
        action: 'agent-version.created',
        subject: `agent:${agentId}`,
        made: madeVersion(row),
        targetName: row.name,
      });
      return row;
    });
  }

  compare(author: Author, agentId: string, from: Side, to: Side): Promise<readonly Difference[]> {
    const { scope } = author;
    return this.#store.inTenant(scope, async (tx) => {
      const agent = present(await findAgent(scope, tx, agentId, 'working-copy'));
      const side = async (which: Side): Promise<Snapshot> =>
        which === 'draft'
          ? snapshotOf(agent.document, await listSchemas(scope, tx, agentId))
          : foundVersion(await findVersion(scope, tx, agentId, which)).snapshot;
      return differences(await side(from), await side(to));
    });
  }
}

const kinds = { CREATE: 'added', REMOVE: 'removed', CHANGE: 'changed' } as const;

/**
 * Compares field by field, in the order of the paths. Schemas are matched by id, so a renamed schema is the same
 * schema.
 */
export function differences(from: Snapshot, to: Snapshot): readonly Difference[] {
  const names = new Map([...from.schemas, ...to.schemas].map(({ id, name }) => [id, name]));
  return diff(comparable(from), comparable(to))
    .map((change): Difference => {
      const [first, second, ...rest] = change.path;
      const schema = first === 'schemas' ? names.get(String(second)) : undefined;
      const path = schema === undefined ? change.path : ['schemas', schema, ...rest];
      return {
        path: path.join('.'),
        kind: kinds[change.type],
        ...(change.type === 'CREATE' ? {} : { from: change.oldValue as unknown }),
        ...(change.type === 'REMOVE' ? {} : { to: change.value as unknown }),
      };
    })
    .toSorted((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));
}

/** Compares only what people wrote: the tools that a server listed are not a change of the agent. */
function comparable({ schemas, ...document }: Snapshot): Record<string, unknown> {
  const byId = Object.fromEntries(schemas.map((schema) => [schema.id, schemaDocumentOf(schema)]));
  return { ...document, schemas: byId };
}

export function sideOf(text: string): Side {
  if (text === 'draft') return text;
  const version = versionOf(text);
  if (version === undefined) throw new PlatformError('not_found', { message: 'The version was not found.' });
  return version;
}

/** Undefined if the text is not the number of a version. */
export function versionOf(text: string): number | undefined {
  return /^[1-9]\d{0,8}$/.test(text) ? Number(text) : undefined;
}
