import { LRUCache } from 'lru-cache';
import { isUuid } from '../../kernel/uuid.js';
import type { Time } from '../../../cluster/index.js';
import type { TenantLimits } from '../../kernel/caller.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import { limitsOf } from '../../kernel/plans/index.js';
import { type ChangeFeed, type HotReads, LookUps } from '../../infra/storage/index.js';
import type { SecretValue, Vault } from '../../tenancy/vault/index.js';
import { triggerTopic } from './changes.js';
import { parseTriggerConfig } from './config/trigger-config.js';
import { findLive, type LiveRow } from './triggers.store.js';
import type { TriggerConfig } from './types/registry.js';

/** A trigger in memory: everything that handling a message needs, without another query. */
export interface LiveTrigger {
  readonly id: string;
  readonly scope: TenantScope;
  readonly limits: TenantLimits;
  readonly agentId: string;
  readonly enabled: boolean;
  /** Whether the operator has suspended the tenant: nothing starts, and nothing is lost that can wait. */
  readonly suspended: boolean;
  /** Increases with every change. */
  readonly revision: number;
  readonly parsed: TriggerConfig;
  /** The secrets of a webhook, the current one first; two during a rotation. */
  readonly secrets: readonly SecretValue[];
  /** When the second secret expires. */
  readonly formerSecretUntilMs: number;
}

export interface LiveTriggersParts {
  readonly reads: HotReads;
  readonly feed: ChangeFeed;
  readonly vault: Pick<Vault, 'resolveAll'>;
  readonly time: Time;
  readonly scopeOf: (tenantId: string) => TenantScope;
  /** The topic of changes to a tenant's plan and limits; the subject is the tenant. */
  readonly tenantTopic: string;
}

const triggersMax = 20_000;
const unknownMax = 10_000;
/** The most ids of one query. */
const lookUpsMax = 500;
/** Short: the feed announces a new trigger anyway, and a flood of invented ids stays cheap. */
const unknownMs = 2_000;

/** A cache of triggers. The change feed invalidates entries; while the feed is not fresh, the cache is bypassed. */
export class LiveTriggers {
  readonly #parts: LiveTriggersParts;
  readonly #kept = new LRUCache<string, LiveTrigger>({ max: triggersMax });
  readonly #unknown: LRUCache<string, true>;
  /** Loads in progress. A change removes its load, so that the outdated result is neither cached nor joined. */
  readonly #loads = new Map<string, Promise<LiveTrigger | undefined>>();
  /** Lookups are batched, so that invented ids cost a bounded number of queries. */
  readonly #lookUps: LookUps<LiveRow>;
  readonly #unsubscribe: readonly (() => void)[];

  constructor(parts: LiveTriggersParts) {
    this.#parts = parts;
    const { feed, reads, time, tenantTopic } = parts;
    this.#lookUps = new LookUps({
      find: (ids) => findLive(reads, ids),
      time,
      everyMs: 0,
      perQuestionMax: lookUpsMax,
      waitingMax: triggersMax,
    });
    this.#unknown = new LRUCache({
      max: unknownMax,
      ttl: unknownMs,
      ttlResolution: 0,
      perf: { now: () => time.monotonicMs() },
    });
    this.#unsubscribe = [
      feed.subscribe(triggerTopic, {
        onChange: ({ subject }) => this.#drop(subject),
        onDropEverything: () => this.#dropAll(),
      }),
      feed.subscribe(tenantTopic, {
        onChange: ({ subject }) => this.#dropTenant(subject),
        onDropEverything: () => this.#dropAll(),
      }),
    ];
  }

  /** Undefined if the trigger does not exist. Returns without a promise if it is cached. */
  get(id: string): LiveTrigger | undefined | Promise<LiveTrigger | undefined> {
    if (!isUuid(id)) return undefined;
    const key = id.toLowerCase();
    if (!this.#parts.feed.isFresh()) return this.#read(key);
    const kept = this.#kept.get(key);
    if (kept !== undefined) return kept;
    if (this.#unknown.has(key)) return undefined;
    return this.#loads.get(key) ?? this.#load(key);
  }

  /** Bypasses the cache, for decisions that must see a change that was just made. */
  async fresh(id: string): Promise<LiveTrigger | undefined> {
    return isUuid(id) ? this.#read(id.toLowerCase()) : undefined;
  }

  stop(): void {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
  }

  #load(key: string): Promise<LiveTrigger | undefined> {
    const load = this.#read(key)
      .then((trigger) => {
        if (this.#loads.get(key) !== load) return trigger;
        if (trigger === undefined) this.#unknown.set(key, true);
        else this.#kept.set(key, trigger);
        return trigger;
      })
      .finally(() => {
        if (this.#loads.get(key) === load) this.#loads.delete(key);
      });
    this.#loads.set(key, load);
    return load;
  }

  async #read(id: string): Promise<LiveTrigger | undefined> {
    const row = await this.#lookUps.get(id);
    return row === undefined ? undefined : this.#liveOf(row);
  }

  async #liveOf(row: LiveRow): Promise<LiveTrigger> {
    const scope = this.#parts.scopeOf(row.tenant_id);
    const { secret_id: secretId } = row;
    return {
      id: row.id,
      scope,
      limits: limitsOf(row.plan, row.settings),
      agentId: row.agent_id,
      enabled: row.enabled,
      suspended: row.suspended,
      revision: row.revision,
      parsed: parseTriggerConfig(row.trigger_type, row.config),
      secrets:
        secretId === null ? [] : await this.#parts.vault.resolveAll(scope, { vault_secret_id: secretId }),
      formerSecretUntilMs: row.former_secret_until?.getTime() ?? 0,
    };
  }

  #drop(id: string): void {
    this.#kept.delete(id);
    this.#unknown.delete(id);
    this.#loads.delete(id);
  }

  #dropTenant(tenantId: string): void {
    for (const [id, { scope }] of this.#kept.entries()) {
      if (scope.tenantId === tenantId) this.#kept.delete(id);
    }
    this.#loads.clear();
  }

  #dropAll(): void {
    this.#kept.clear();
    this.#unknown.clear();
    this.#loads.clear();
  }
}

/** The secrets that are valid now. */
export function validSecrets(
  { secrets, formerSecretUntilMs }: Pick<LiveTrigger, 'secrets' | 'formerSecretUntilMs'>,
  nowMs: number,
): readonly SecretValue[] {
  return nowMs < formerSecretUntilMs ? secrets : secrets.slice(0, 1);
}
