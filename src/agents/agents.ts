import type { Ids } from '../kernel/chance.js';
import type { TenantScope } from '../kernel/tenant-scope.js';
import { invalidField, PlatformError } from '../kernel/errors.js';
import type { JsonObject } from '../http/operations/index.js';
import {
  allPages,
  type FoundPage,
  isUniqueViolation,
  type Store,
  type TenantTransaction,
} from '../infra/storage/index.js';
import {
  type AgentFilter,
  type AgentRow,
  countAgents,
  findAgent,
  insertAgent,
  listAgents,
  type ListedAgentRow,
  lockAgent,
  updateDocument,
} from './agents.store.js';
import { recordAudit } from '../tenancy/audit/index.js';
import { type Author, seesDrafts } from './author.js';
import { announceDraft } from './changes.js';
import { patchedDocument } from './document.js';

/** Per tenant, without archived agents. */
export const agentsMax = 5_000;

/** Creates, reads and changes the working copies of agents. `publishing.ts` alone changes the published version. */
export class Agents {
  readonly #store: Store;
  readonly #ids: Ids;

  constructor(store: Store, ids: Ids) {
    this.#store = store;
    this.#ids = ids;
  }

  async create(author: Author, fields: JsonObject): Promise<AgentRow> {
    const document = patchedDocument({}, fields);
    return refusingTakenName(document.name, () =>
      this.#store.inTenant(author.scope, async (tx) => {
        if ((await countAgents(author.scope, tx)) >= agentsMax) {
          throw new PlatformError('conflict', { message: `A tenant holds at most ${agentsMax} agents.` });
        }
        const row = await insertAgent(author.scope, tx, {
          id: this.#ids.uuid(),
          document,
          createdBy: author.id,
        });
        await recordMadeAgent(tx, author, row, 'agent.created');
        return row;
      }),
    );
  }

  get(author: Author, id: string): Promise<AgentRow> {
    return this.#store.inTenant(author.scope, async (tx) =>
      present(await findAgent(author.scope, tx, id, viewOf(author))),
    );
  }

  /** Without a limit all, as far as one answer holds them. */
  list(author: Author, filter: AgentFilter, limit: number | undefined): Promise<FoundPage<ListedAgentRow>> {
    return this.#store.inTenant(author.scope, async (tx) => {
      const { after } = filter;
      if (after !== undefined && (await findAgent(author.scope, tx, after, 'working-copy')) === null) {
        throw invalidField('cursor', 'is not a valid cursor');
      }
      const read = (place: string | undefined, rows: number): Promise<FoundPage<ListedAgentRow>> =>
        listAgents(author.scope, tx, viewOf(author), { ...filter, after: place }, rows);
      return limit === undefined
        ? allPages((last, rows) => read(last === undefined ? after : last.id, rows))
        : read(after, limit);
    });
  }

  /** Merges the patch into the working copy. The published version stays as it is until the next publication. */
  update(author: Author, id: string, patch: JsonObject): Promise<AgentRow> {
    return refusingTakenName(patch['name'], () =>
      this.#store.inTenant(author.scope, async (tx) => {
        const row = await lockEditable(author.scope, tx, id);
        const changed = await updateDocument(author.scope, tx, id, patchedDocument(row.document, patch));
        await announceDraft(tx, id);
        return changed;
      }),
    );
  }
}

/** In the transaction that makes the agent. */
export function recordMadeAgent(
  tx: TenantTransaction,
  { scope, actor }: Author,
  { id, document }: AgentRow,
  action: string,
): Promise<void> {
  const targetName = document.name;
  return recordAudit(tx, {
    tenantId: scope.tenantId,
    actor,
    action,
    subject: `agent:${id}`,
    changes: { name: { old: null, new: targetName } },
    targetName,
  });
}

/** Locks the working copy for a change of it or of its schemas. */
export async function lockEditable(scope: TenantScope, tx: TenantTransaction, id: string): Promise<AgentRow> {
  const row = present(await lockAgent(scope, tx, id));
  if (row.status === 'archived') {
    throw new PlatformError('conflict', { message: 'The agent is archived. Restore it first.' });
  }
  return row;
}

export function present(row: AgentRow | null): AgentRow {
  if (row === null) throw new PlatformError('agent_not_found');
  return row;
}

/** When two requests take one name at the same time, the unique index refuses the second with `conflict`. */
export async function refusingTakenName<Result>(name: unknown, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!isUniqueViolation(error, 'agents_name')) throw error;
    throw new PlatformError('conflict', {
      message: `An agent with the name ${String(name)} already exists. Choose another name.`,
      details: { field: 'name', issue: 'is taken' },
      cause: error,
    });
  }
}

function viewOf({ role }: Author) {
  return seesDrafts(role) ? 'working-copy' : 'published';
}
