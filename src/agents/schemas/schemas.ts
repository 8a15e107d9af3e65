import { isUuid } from '../../kernel/uuid.js';
import type { Ids } from '../../kernel/chance.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { Egress } from '../../infra/egress/index.js';
import { PlatformError } from '../../kernel/errors.js';
import type { JsonObject } from '../../http/operations/index.js';
import { isUniqueViolation, type Store, type TenantTransaction } from '../../infra/storage/index.js';
import { recordAudit } from '../../tenancy/audit/index.js';
import { approvalOf, approves, isApproved, mayNotSend, type Vault } from '../../tenancy/vault/index.js';
import { lockEditable, present } from '../agents.js';
import { findAgent, touchAgent } from '../agents.store.js';
import type { Author } from '../author.js';
import { announceDraft } from '../changes.js';
import { destinationsOf, forbiddenDestinations } from './destinations.js';
import { patchedSchema, type SchemaDocument, type SchemaType } from './document.js';
import {
  countSchemas,
  deleteSchema,
  findSchema,
  listSchemas,
  putSchema,
  type SchemaRow,
} from './schemas.store.js';

/** Per agent. Vendors accept few more tools, and models choose badly among so many. */
export const schemasMax = 128;

interface SchemasParts {
  readonly store: Store;
  readonly vault: Pick<Vault, 'keep'>;
  readonly egress: Pick<Egress, 'checkHeaders'>;
  readonly ids: Ids;
}

/** The tools of the working copies. */
export class Schemas {
  readonly #store: Store;
  readonly #vault: Pick<Vault, 'keep'>;
  readonly #egress: Pick<Egress, 'checkHeaders'>;
  readonly #ids: Ids;

  constructor({ store, vault, egress, ids }: SchemasParts) {
    this.#ids = ids;
    this.#store = store;
    this.#vault = vault;
    this.#egress = egress;
  }

  list(author: Author, agentId: string, type?: SchemaType): Promise<readonly SchemaRow[]> {
    const { scope } = author;
    return this.#store.inTenant(scope, async (tx) => {
      present(await findAgent(scope, tx, agentId, 'working-copy'));
      return listSchemas(scope, tx, agentId, type);
    });
  }

  get(author: Author, agentId: string, id: string): Promise<SchemaRow> {
    const { scope } = author;
    return this.#store.inTenant(scope, async (tx) => {
      present(await findAgent(scope, tx, agentId, 'working-copy'));
      return this.#found(scope, tx, agentId, id);
    });
  }

  create(author: Author, agentId: string, document: SchemaDocument): Promise<SchemaRow> {
    const { scope } = author;
    return this.#change(author, agentId, document.name, async (tx) => {
      if ((await countSchemas(scope, tx, agentId)) >= schemasMax) {
        throw new PlatformError('conflict', {
          message: `An agent has at most ${schemasMax} schemas. Delete one first.`,
        });
      }
      const approved = await this.#approved(author, tx, document, []);
      const row = await putSchema(scope, tx, agentId, {
        id: this.#ids.uuid(),
        document,
        approved,
        tools: null,
        toolsReadAt: null,
        createdBy: author.id,
      });
      await recordAudit(tx, {
        tenantId: scope.tenantId,
        actor: author.actor,
        action: 'agent-schema.created',
        subject: `agent-schema:${row.id}`,
        targetName: document.name,
      });
      return row;
    });
  }

  update(
    author: Author,
    agentId: string,
    id: string,
    patch: JsonObject,
    revision: number | undefined,
  ): Promise<SchemaRow> {
    const { scope } = author;
    return this.#change(author, agentId, patch['name'], async (tx) => {
      const row = await this.#found(scope, tx, agentId, id);
      if (revision !== undefined && revision !== row.revision) {
        throw new PlatformError('conflict', {
          message: `The schema has revision ${row.revision}, not ${revision}: it was changed meanwhile. Read it again and repeat the change.`,
          details: { field: 'revision', issue: 'is stale', revision: row.revision },
        });
      }
      const document = patchedSchema(row.document, patch);
      const approved = await this.#approved(author, tx, document, row.approved);
      const kept = sameServer(row.document, document) ? row : { tools: null, tools_read_at: null };
      return putSchema(scope, tx, agentId, {
        id,
        document,
        approved,
        tools: kept.tools,
        toolsReadAt: kept.tools_read_at,
        createdBy: row.created_by,
      });
    });
  }

  delete(author: Author, agentId: string, id: string): Promise<SchemaRow> {
    const { scope } = author;
    return this.#change(author, agentId, undefined, async (tx) => {
      const row = await this.#found(scope, tx, agentId, id);
      await deleteSchema(scope, tx, agentId, id);
      return row;
    });
  }

  /**
   * Locks the agent's row, so that changes of one agent run one after the other and publication sees each as a
   * whole.
   */
  async #change<Result>(
    author: Author,
    agentId: string,
    name: unknown,
    work: (tx: TenantTransaction) => Promise<Result>,
  ): Promise<Result> {
    const { scope } = author;
    try {
      return await this.#store.inTenant(scope, async (tx) => {
        await lockEditable(scope, tx, agentId);
        const result = await work(tx);
        await touchAgent(scope, tx, agentId);
        await announceDraft(tx, agentId);
        return result;
      });
    } catch (error) {
      if (!isUniqueViolation(error, 'agent_schemas_name')) throw error;
      throw new PlatformError('conflict', {
        message: `The agent already has a schema with the name ${String(name)}. Choose another name.`,
        details: { field: 'name', issue: 'is taken' },
        cause: error,
      });
    }
  }

  /** The host is checked at publication. Headers that no request can carry are refused at once. */
  #checkHeaders(document: SchemaDocument): void {
    if (document.type === 'agent') return;
    const { auth } = document.type === 'api' ? document.editor_schema.api : document.editor_schema.mcp;
    const at = `editor_schema.${document.type}`;
    if (auth.type === 'api_key') this.#egress.checkHeaders({ [auth.header]: '' }, `${at}.auth.header`);
    if (document.type === 'api') {
      this.#egress.checkHeaders(document.editor_schema.api.headers ?? {}, `${at}.headers`);
    }
  }

  async #found(scope: TenantScope, tx: TenantTransaction, agentId: string, id: string): Promise<SchemaRow> {
    const row = isUuid(id) ? await findSchema(scope, tx, agentId, id) : null;
    if (row === null) throw new PlatformError('not_found', { message: 'The schema was not found.' });
    return row;
  }

  /**
   * The destinations that are approved after this author's change. Owners and admins approve by writing. An editor
   * keeps the earlier approvals and may add only destinations that the secret itself allows.
   */
  async #approved(
    author: Author,
    tx: TenantTransaction,
    document: SchemaDocument,
    before: readonly string[],
  ): Promise<readonly string[]> {
    this.#checkHeaders(document);
    // Protects existing secrets from deletion until this commits. A missing secret is reported at publication, so
    // that secrets and schemas can be created in any order.
    const secretOf = (secret: Parameters<Vault['keep']>[1]) => this.#vault.keep(tx, secret);
    const all = destinationsOf(document);
    if (approves(author.role)) {
      for (const { secret } of all) await secretOf(secret);
      return [...new Set(all.map(approvalOf))];
    }
    const [forbidden] = await forbiddenDestinations(document, before, secretOf);
    if (forbidden !== undefined) throw mayNotSend(forbidden);
    return [...new Set(all.filter((one) => isApproved(before, one)).map(approvalOf))];
  }
}

/** Whether the tools that the server listed remain valid. */
function sameServer(before: SchemaDocument, after: SchemaDocument): boolean {
  if (before.type !== 'mcp' || after.type !== 'mcp') return false;
  const [one, other] = [before.editor_schema.mcp, after.editor_schema.mcp];
  return one.url === other.url && JSON.stringify(one.auth) === JSON.stringify(other.auth);
}
