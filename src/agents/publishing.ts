import { withinSignal } from '../../cluster/index.js';
import type { Platform } from '../infra/platform/index.js';
import { changedFields, recordAudit } from '../tenancy/audit/index.js';
import type { FieldChanges } from '../kernel/audit-context.js';
import { PlatformError } from '../kernel/errors.js';
import type { TenantTransaction } from '../infra/storage/index.js';
import { present, refusingTakenName } from './agents.js';
import { type AgentRow, lockAgent, publishVersion, withdraw } from './agents.store.js';
import type { Author } from './author.js';
import { announceAgent, settled } from './changes.js';
import { approvalOf } from '../tenancy/vault/index.js';
import type { Checks } from './checks.js';
import type { AgentDocument } from './document.js';
import { type Issue, notPublishable } from './issues.js';
import { type ModelChecks, unknownModels } from './models.js';
import { destinationsOf } from './schemas/destinations.js';
import { approveDestinations, recordFindings } from './schemas/schemas.store.js';
import { schemaDocumentOf, snapshotOf, type SnapshotSchema } from './snapshot.js';
import { findVersion, insertVersion, type VersionRow } from './versions.store.js';
import { readWorkingCopy, replaceWorkingCopy, type WorkingCopy } from './working-copy.js';

/** The users who may chat with a published agent, and its rate limit. Omitted fields keep their values. */
export interface PublishConfig {
  readonly rateLimit?: number | null | undefined;
  readonly allowedUsers?: readonly string[] | null | undefined;
}

/** How often a publication restarts because the working copy changed during the checks. */
const attemptsMax = 3;
/** For all servers of an agent together. */
const checkTimeoutMs = 30_000;

/** Changes the states of an agent and its published version. Each change is audited and announced to every node. */
export class Publishing {
  readonly #store: Platform['store'];
  readonly #changes: Platform['changes'];
  readonly #time: Platform['time'];
  readonly #checks: Checks;
  readonly #models: ModelChecks | undefined;

  constructor(
    { store, changes, time }: Pick<Platform, 'store' | 'changes' | 'time'>,
    checks: Checks,
    models?: ModelChecks,
  ) {
    this.#store = store;
    this.#changes = changes;
    this.#time = time;
    this.#checks = checks;
    this.#models = models;
  }

  /** Returns everything that would prevent publication. Changes nothing. */
  async validate(
    author: Author,
    id: string,
    signal: AbortSignal,
  ): Promise<{ readonly agent: AgentRow; readonly issues: readonly Issue[] }> {
    const { scope } = author;
    const { agent, issues, schemas } = await this.#store.inTenant(scope, async (tx) => {
      const copy = await readWorkingCopy(scope, tx, id);
      return { ...copy, issues: await this.#checks.local(scope, tx, id, copy.schemas) };
    });
    const parameters = [
      ...(await this.#checks.answers(scope, agent.document)),
      ...(await this.#checks.parameters(scope, schemas)),
    ];
    const outside = await this.#network(author, schemas, signal);
    const models = await this.#unknownModels(author, agent.document);
    return { agent, issues: [...models, ...parameters, ...issues, ...outside.issues] };
  }

  async publish(author: Author, id: string, config: PublishConfig, signal: AbortSignal): Promise<AgentRow> {
    for (let attempt = 1; attempt <= attemptsMax; attempt += 1) {
      const copy = await this.#checked(author, id, signal);
      const row = await this.#change(author, id, 'agent.published', {}, (tx, locked) =>
        locked.revision === copy.agent.revision
          ? this.#publish(author, tx, copy, locked, config)
          : Promise.resolve(locked),
      );
      if (row.revision === copy.agent.revision) return row;
    }
    throw new PlatformError('conflict', {
      message: 'The agent was changed during the checks. Publish it again.',
    });
  }

  /** A draft stays a draft. */
  unpublish(author: Author, id: string): Promise<AgentRow> {
    return this.#change(author, id, 'agent.unpublished', {}, async (tx, row) => {
      refuseArchived(row);
      return row.status === 'draft' ? row : withdraw(author.scope, tx, id, 'draft');
    });
  }

  /** An archived agent stays archived. Its name becomes free. */
  archive(author: Author, id: string): Promise<AgentRow> {
    return this.#change(author, id, 'agent.archived', {}, async (tx, row) =>
      row.status === 'archived' ? row : withdraw(author.scope, tx, id, 'archived'),
    );
  }

  restore(author: Author, id: string): Promise<AgentRow> {
    return refusingTakenName('of the archived agent', () =>
      this.#change(author, id, 'agent.restored', {}, async (tx, row) => {
        if (row.status !== 'archived') {
          throw new PlatformError('conflict', {
            message: `The agent is ${row.status}. Only an archived agent can be restored.`,
          });
        }
        return withdraw(author.scope, tx, id, 'draft');
      }),
    );
  }

  /**
   * Makes an earlier version the working copy and a new version, which runs at once if the agent is published. It
   * contacts no MCP server: an unavailable server may be the reason for the rollback.
   */
  async rollback(author: Author, id: string, to: number): Promise<VersionRow> {
    const { scope } = author;
    const faults = await this.#faultsOfVersion(author, id, to);
    const made: { version?: VersionRow } = {};
    const change = () =>
      this.#change(author, id, 'agent.rolled-back', made, async (tx, before) => {
        refuseArchived(before);
        const { snapshot, created_at } = foundVersion(await findVersion(scope, tx, id, to));
        const row = await replaceWorkingCopy(author, tx, id, snapshot, created_at);
        const { schemas } = await readWorkingCopy(scope, tx, id);
        const [first, ...others] =
          before.status === 'published'
            ? [...faults, ...(await this.#checks.local(scope, tx, id, schemas))]
            : [];
        if (first !== undefined) throw notPublishable([first, ...others]);
        const version = before.last_version + 1;
        const name = `Rollback to version ${to}`;
        made.version = await insertVersion(scope, tx, {
          agentId: id,
          version,
          name,
          snapshot,
          createdBy: author.id,
        });
        if (before.status !== 'published') return row;
        return publishVersion(scope, tx, id, { version, ...limitsOf(before, {}) });
      });
    await refusingTakenName('of that version', change);
    return foundVersion(made.version ?? null);
  }

  /** Returns the working copy if nothing prevents its publication. */
  async #checked(author: Author, id: string, signal: AbortSignal): Promise<WorkingCopy> {
    const { scope } = author;
    const { agent, schemas, local } = await this.#store.inTenant(scope, async (tx) => {
      const copy = await readWorkingCopy(scope, tx, id);
      refuseArchived(copy.agent);
      return { ...copy, local: await this.#checks.local(scope, tx, id, copy.schemas) };
    });
    const parameters = [
      ...(await this.#checks.answers(scope, agent.document)),
      ...(await this.#checks.parameters(scope, schemas)),
    ];
    const outside = await this.#network(author, schemas, signal);
    // The findings of aborted checks are not recorded.
    if (signal.aborted)
      throw new PlatformError('service_unavailable', {
        message:
          'The checks of the agent were cut short, because the client left or the node is stopping. Publish it again.',
        cause: signal.reason,
      });
    const models = await this.#unknownModels(author, agent.document);
    const issues = [...models, ...parameters, ...local, ...outside.issues];
    await this.#store.inTenant(scope, async (tx) => {
      for (const { id: schemaId, revision } of schemas) {
        const own = issues.filter((issue) => issue.schemaId === schemaId);
        const tools = outside.tools.get(schemaId) ?? null;
        await recordFindings(scope, tx, id, { id: schemaId, revision, issues: own, tools });
      }
    });
    const [first, ...others] = issues;
    if (first !== undefined) throw notPublishable([first, ...others]);
    return {
      agent,
      schemas: schemas.map((row) => ({ ...row, tools: outside.tools.get(row.id) ?? row.tools })),
    };
  }

  /**
   * Checks what a version says itself: one that was never published may be made of any working copy. A version never changes,
   * so this needs no lock.
   */
  async #faultsOfVersion(author: Author, id: string, version: number): Promise<readonly Issue[]> {
    const { scope } = author;
    const found = await this.#store.inTenant(scope, (tx) => findVersion(scope, tx, id, version));
    if (found === null) return [];
    const { snapshot } = found;
    const schemas = snapshot.schemas.map((schema) => ({ id: schema.id, document: schemaDocumentOf(schema) }));
    return [
      ...(await this.#unknownModels(author, snapshot)),
      ...(await this.#checks.answers(scope, snapshot)),
      ...(await this.#checks.parameters(scope, schemas)),
      ...snapshot.schemas.filter(({ type, tools }) => type === 'mcp' && tools === null).map(neverAsked),
    ];
  }

  async #unknownModels(author: Author, document: AgentDocument): Promise<readonly Issue[]> {
    return this.#models === undefined ? [] : unknownModels(this.#models, author, document);
  }

  async #publish(
    author: Author,
    tx: TenantTransaction,
    { schemas }: WorkingCopy,
    locked: AgentRow,
    config: PublishConfig,
  ): Promise<AgentRow> {
    const { scope } = author;
    const { id, document } = locked;
    refuseArchived(locked);
    // Repeats the local checks under the lock, because a secret may have been deleted or a cycle of sub-agents
    // closed in between. The parameters need no second check: the revision is the same.
    const [first, ...others] = await this.#checks.local(scope, tx, id, schemas);
    if (first !== undefined) throw notPublishable([first, ...others]);
    for (const row of schemas) {
      const approved = destinationsOf(row.document).map(approvalOf);
      await approveDestinations(scope, tx, id, { id: row.id, approved });
    }
    const version = locked.last_version + 1;
    const snapshot = snapshotOf(document, schemas);
    const name = `Version ${version}`;
    await insertVersion(scope, tx, { agentId: id, version, name, snapshot, createdBy: author.id });
    return publishVersion(scope, tx, id, { version, ...limitsOf(locked, config) });
  }

  /** The checks end when the caller disconnects or the time is over. */
  #network(
    { scope, role }: Author,
    schemas: Parameters<Checks['network']>[2],
    outer: AbortSignal,
  ): ReturnType<Checks['network']> {
    const late = (): Error => new DOMException('the checks took too long', 'TimeoutError');
    return withinSignal(this.#time, checkTimeoutMs, outer, late, (signal) =>
      this.#checks.network(scope, role, schemas, signal),
    );
  }

  /**
   * Performs one change of state. A repeat of its request finds `made`. If `work` returns the row that it was given, nothing
   * was changed.
   */
  async #change(
    author: Author,
    id: string,
    action: string,
    made: { readonly version?: VersionRow },
    work: (tx: TenantTransaction, row: AgentRow) => Promise<AgentRow>,
  ): Promise<AgentRow> {
    const { row, change } = await this.#store.inTenant(author.scope, async (tx) => {
      const before = present(await lockAgent(author.scope, tx, id));
      const row = await work(tx, before);
      if (row === before) return { row, change: undefined };
      await recordAudit(tx, {
        tenantId: author.scope.tenantId,
        actor: author.actor,
        action,
        subject: `agent:${id}`,
        ...(made.version === undefined ? {} : { made: madeVersion(made.version) }),
        details: { name: row.document.name, from: before.status, version: row.published_version },
        changes: { ...changedFields(stateOf(before), stateOf(row)), ...madeFields(made.version) },
        targetName: row.document.name,
      });
      return { row, change: await announceAgent(tx, id) };
    });
    if (change !== undefined) await settled(this.#changes, change);
    return row;
  }
}

function stateOf({ status, published_version }: AgentRow) {
  return { status, published_version };
}

function madeFields(made: VersionRow | undefined): FieldChanges {
  return made === undefined ? {} : changedFields(null, { version: made.version });
}

function limitsOf(row: AgentRow, config: PublishConfig) {
  return {
    rateLimit: config.rateLimit === undefined ? row.rate_limit : config.rateLimit,
    allowedUsers: config.allowedUsers === undefined ? row.allowed_users : (config.allowedUsers ?? []),
  };
}

/** What an audit entry calls a version that it made. */
export function madeVersion({ version }: VersionRow): string {
  return `agent-version:${version}`;
}

export function foundVersion(row: VersionRow | null): VersionRow {
  if (row === null) throw new PlatformError('not_found', { message: 'The version was not found.' });
  return row;
}

function refuseArchived({ status }: AgentRow): void {
  if (status === 'archived') {
    throw new PlatformError('conflict', { message: 'The agent is archived. Restore it first.' });
  }
}

/** A rollback asks no server, and without its tools the agent would run as if it had none. */
function neverAsked({ id, name }: SnapshotSchema): Issue {
  const issue = 'names a server that was never asked for its tools, because this version was never published';
  return { schemaId: id, schema: name, field: 'editor_schema.mcp', issue };
}
