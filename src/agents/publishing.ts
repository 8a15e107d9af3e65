import { recordAudit } from '../audit/index.js';
import { PlatformError } from '../errors.js';
import type { ChangeFeed, Store, TenantTransaction } from '../storage/index.js';
import { present, refusingTakenName } from './agents.js';
import { type AgentRow, lockAgent, publishVersion, withdraw } from './agents.store.js';
import type { Author } from './author.js';
import { announceAgent, settled } from './changes.js';
import { insertVersion } from './versions.store.js';

/** Who may chat with a published agent, and how often. What is left out stays as it was. */
export interface PublishConfig {
  readonly rateLimit?: number | null | undefined;
  readonly allowedUsers?: readonly string[] | null | undefined;
}

/** The states of an agent, and what runs in them. Each change is audited, and told to every node. */
export class Publishing {
  readonly #store: Store;
  readonly #feed: ChangeFeed;

  constructor(store: Store, feed: ChangeFeed) {
    this.#store = store;
    this.#feed = feed;
  }

  publish(author: Author, id: string, config: PublishConfig): Promise<AgentRow> {
    return this.#change(author, id, 'agent.published', async (tx, row) => {
      if (row.status === 'archived') throw archived();
      const version = row.last_version + 1;
      await insertVersion(author.scope, tx, {
        agentId: id,
        version,
        name: `Version ${version}`,
        snapshot: { ...row.document, schemas: [] },
        createdBy: author.id,
      });
      return publishVersion(author.scope, tx, id, {
        version,
        rateLimit: config.rateLimit === undefined ? row.rate_limit : config.rateLimit,
        allowedUsers: config.allowedUsers === undefined ? row.allowed_users : (config.allowedUsers ?? []),
      });
    });
  }

  /** A draft stays one. */
  unpublish(author: Author, id: string): Promise<AgentRow> {
    return this.#change(author, id, 'agent.unpublished', async (tx, row) => {
      if (row.status === 'archived') throw archived();
      return row.status === 'draft' ? row : withdraw(author.scope, tx, id, 'draft');
    });
  }

  /** An archived agent stays one. Its name is free for another. */
  archive(author: Author, id: string): Promise<AgentRow> {
    return this.#change(author, id, 'agent.archived', async (tx, row) =>
      row.status === 'archived' ? row : withdraw(author.scope, tx, id, 'archived'),
    );
  }

  restore(author: Author, id: string): Promise<AgentRow> {
    return refusingTakenName('of the archived one', () =>
      this.#change(author, id, 'agent.restored', async (tx, row) => {
        if (row.status !== 'archived') {
          throw new PlatformError('conflict', { message: `The agent is ${row.status}, not archived.` });
        }
        return withdraw(author.scope, tx, id, 'draft');
      }),
    );
  }

  /** One change of state. A work that answers the row it was given has changed nothing. */
  async #change(
    author: Author,
    id: string,
    action: string,
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
        details: { name: row.document.name, from: before.status, version: row.published_version },
      });
      return { row, change: await announceAgent(tx, id) };
    });
    if (change !== undefined) await settled(this.#feed, change);
    return row;
  }
}

function archived(): PlatformError {
  return new PlatformError('conflict', { message: 'The agent is archived; restore it first.' });
}
