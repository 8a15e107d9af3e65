import type { Ids, SecureRandom } from '../../kernel/chance.js';
import type { AgentsSubject } from '../../agents/index.js';
import { recordAudit } from '../../tenancy/audit/index.js';
import { actorOf, type TenantCaller } from '../../kernel/caller.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { Egress } from '../../infra/egress/index.js';
import { invalidField, PlatformError } from '../../kernel/errors.js';
import { type JsonObject, mergePatch } from '../../http/operations/index.js';
import {
  allPages,
  type ChangeFeed,
  type FoundPage,
  type Store,
  type TenantTransaction,
} from '../../infra/storage/index.js';
import { referenceOf, type Vault } from '../../tenancy/vault/index.js';
import { announceTrigger, settled } from '../triggers/changes.js';
import { refuseRenderedAcknowledgement } from '../outbox/replies/raw-reply.js';
import { approvedDestinations } from '../triggers/config/secret-rules.js';
import {
  checkOutbound,
  checkSettings,
  destinationsOf,
  parseTriggerConfig,
  refuseUnknownSettings,
  withoutNulls,
} from '../triggers/config/trigger-config.js';
import type { ChannelAddresses } from '../triggers/config/webhook-config.js';
import { takesRequests, type TriggerConfig, type TriggerType } from '../triggers/types/registry.js';
import type { Sources } from '../sources/sources.js';
import { sourceHealth, type SourceHealth } from '../sources/sources.store.js';
import {
  countTriggers,
  deleteTrigger,
  findTrigger,
  insertTrigger,
  type ListedTriggerRow,
  listTriggers,
  lockTrigger,
  setFormerSecret,
  setTriggerEnabled,
  type TriggerFilter,
  type TriggerRow,
  updateTrigger,
} from '../triggers/triggers.store.js';

/** The limit per tenant. */
export const triggersMax = 2_000;

export interface TriggersParts {
  readonly store: Store;
  readonly feed: ChangeFeed;
  readonly vault: Pick<Vault, 'keep' | 'putNamed' | 'putOwned' | 'deleteOwned'>;
  readonly egress: Pick<Egress, 'checkUrl' | 'checkHost' | 'checkHeaders'>;
  readonly agents: Pick<AgentsSubject, 'runnableAgent'>;
  readonly channels: ChannelAddresses;
  readonly ids: Ids;
  readonly random: Pick<SecureRandom, 'bytes'>;
  readonly nowMs: () => number;
  readonly sources: Pick<Sources, 'arm' | 'beginning' | 'checkSettings'>;
  /** Called after the commit, so that a polled source starts immediately instead of when it is found overdue. */
  readonly armed: (scope: TenantScope, row: TriggerRow) => void;
}

export interface NewTriggerFields {
  readonly agent_id: string;
  readonly name: string;
  readonly trigger_type: TriggerType;
  readonly trigger_config: JsonObject;
}

export interface TriggerPatch {
  readonly agent_id?: string | undefined;
  readonly name?: string | undefined;
  readonly trigger_type?: TriggerType | undefined;
  readonly trigger_config?: JsonObject | undefined;
  readonly enabled?: boolean | undefined;
}

export interface CreatedTrigger {
  readonly row: TriggerRow;
  /** Returned only when it is made: on creation, on rotation, and by the change that adds the first callback. */
  readonly secret: NewTriggerSecret | undefined;
}

/** The value, or the name under which the tenant's vault holds it. */
export type NewTriggerSecret = { readonly webhook_secret: string } | { readonly webhook_secret_ref: string };

/** Where the caller finds a new secret; undefined: in the answer. */
export type SecretsTo = 'vault' | undefined;

/** Creates, reads and changes triggers. Nodes that cache a trigger are notified of every change. */
export class Triggers {
  readonly #parts: TriggersParts;

  constructor(parts: TriggersParts) {
    this.#parts = parts;
  }

  async create(
    caller: TenantCaller,
    fields: NewTriggerFields,
    secretsTo?: SecretsTo,
  ): Promise<CreatedTrigger> {
    const { scope } = caller;
    const config = withoutNulls(fields.trigger_config);
    const parsed = this.#parsedConfig(fields.trigger_type, config);
    refuseRenderedAcknowledgement(parsed);
    await this.#parts.sources.checkSettings(scope, undefined, parsed);
    await this.#requireAgent(caller, fields.agent_id);
    const beginning = await this.#parts.sources.beginning(scope, parsed);
    const destinations = destinationsOf(parsed, this.#parts.channels);
    const id = this.#parts.ids.uuid();
    const secret = hasSecret(parsed) ? this.#newSecret() : undefined;
    return this.#arming(scope, async (tx) => {
      if ((await countTriggers(scope, tx)) >= triggersMax) {
        throw new PlatformError('conflict', {
          message: `A tenant holds at most ${triggersMax} triggers. Delete one first.`,
        });
      }
      const approved = await approvedDestinations(this.#parts.vault, tx, caller.role, destinations, []);
      const row = await insertTrigger(scope, tx, {
        id,
        agentId: fields.agent_id,
        name: fields.name,
        type: fields.trigger_type,
        config,
        approved,
        secrets: [...new Set(destinations.map(({ secret: used }) => referenceOf(used)))],
        secretId:
          secret === undefined
            ? null
            : await this.#parts.vault.putOwned(tx, ownerOf(id), actorOf(caller), secret),
        createdBy: caller.kind === 'key' ? caller.keyId : caller.userId,
      });
      await this.#parts.sources.arm(tx, row, parsed, beginning);
      await this.#audit(tx, caller, 'trigger.created', row);
      const handed =
        secret === undefined ? undefined : await this.#handOver(tx, caller, id, secret, secretsTo);
      return { result: { row, secret: handed }, row };
    });
  }

  get(scope: TenantScope, id: string): Promise<TriggerRow> {
    return this.#parts.store.inTenant(scope, async (tx) => present(await findTrigger(scope, tx, id)));
  }

  /** The result of its polls; null for a trigger without a polled source. */
  source(scope: TenantScope, id: string): Promise<SourceHealth | null> {
    return this.#parts.store.inTenant(scope, (tx) => sourceHealth(scope, tx, id));
  }

  /** Without a limit all, as far as one answer holds them. */
  list(
    scope: TenantScope,
    filter: TriggerFilter,
    limit: number | undefined,
  ): Promise<FoundPage<ListedTriggerRow>> {
    return this.#parts.store.inTenant(scope, (tx) => {
      if (limit !== undefined) return listTriggers(scope, tx, filter, limit);
      return allPages((last, rows) => {
        const after = last === undefined ? filter.after : { at: last.created_at, id: last.id };
        return listTriggers(scope, tx, { ...filter, after }, rows);
      });
    });
  }

  /** Applies a JSON Merge Patch to the stored configuration. A trigger that has to sign from now on gets a secret. */
  async update(
    caller: TenantCaller,
    id: string,
    patch: TriggerPatch,
    secretsTo?: SecretsTo,
  ): Promise<CreatedTrigger> {
    const { scope } = caller;
    if (patch.agent_id !== undefined) await this.#requireAgent(caller, patch.agent_id);
    const found = await this.get(scope, id);
    if (patch.trigger_config !== undefined) {
      const wanted = mergePatch(found.config, patch.trigger_config);
      const parsed = this.#parsedConfig(found.trigger_type, wanted);
      await this.#parts.sources.checkSettings(scope, id, parsed);
    }
    const beginning = await this.#beginningAnew(scope, found, patch);
    return this.#arming(scope, async (tx) => {
      const before = present(await lockTrigger(scope, tx, id));
      if (patch.trigger_type !== undefined && patch.trigger_type !== before.trigger_type) {
        throw invalidField('trigger_type', 'cannot be changed; create another trigger instead');
      }
      const config = mergePatch(before.config, patch.trigger_config ?? {});
      const parsed = this.#parsedConfig(before.trigger_type, config);
      if (patch.trigger_config !== undefined) refuseRenderedAcknowledgement(parsed);
      const destinations = destinationsOf(parsed, this.#parts.channels);
      const secret = before.secret_id === null && hasSecret(parsed) ? this.#newSecret() : undefined;
      const row = await updateTrigger(scope, tx, id, {
        agentId: patch.agent_id ?? before.agent_id,
        name: patch.name ?? before.name,
        config,
        enabled: patch.enabled ?? before.enabled,
        approved: await approvedDestinations(
          this.#parts.vault,
          tx,
          caller.role,
          destinations,
          before.approved,
        ),
        secrets: [...new Set(destinations.map(({ secret: used }) => referenceOf(used)))],
        secretId:
          secret === undefined
            ? before.secret_id
            : await this.#parts.vault.putOwned(tx, ownerOf(id), actorOf(caller), secret),
      });
      // Changed by another request meanwhile: the next poll finds the start position.
      await this.#parts.sources.arm(
        tx,
        row,
        parsed,
        before.revision === found.revision ? beginning : undefined,
      );
      await this.#audit(tx, caller, 'trigger.updated', row);
      const handed =
        secret === undefined ? undefined : await this.#handOver(tx, caller, id, secret, secretsTo);
      return { result: { row, secret: handed }, row };
    });
  }

  /** Queried outside the transaction, since it may take a while. */
  #beginningAnew(
    scope: TenantScope,
    { trigger_type: type, config }: TriggerRow,
    { trigger_config: patch }: TriggerPatch,
  ): Promise<object | undefined> | undefined {
    if (patch === undefined) return undefined;
    const wanted = this.#parsedConfig(type, mergePatch(config, patch));
    return this.#parts.sources.beginning(scope, wanted, parseTriggerConfig(type, config));
  }

  setEnabled(caller: TenantCaller, id: string, enabled: boolean): Promise<TriggerRow> {
    return this.#arming(caller.scope, async (tx) => {
      const row = present(await setTriggerEnabled(caller.scope, tx, id, enabled));
      await this.#parts.sources.arm(tx, row, parseTriggerConfig(row.trigger_type, row.config));
      await this.#audit(tx, caller, enabled ? 'trigger.enabled' : 'trigger.disabled', row);
      return { result: row, row };
    });
  }

  /** Rotates the secret; the previous one stays valid for the grace time. */
  rotateSecret(
    caller: TenantCaller,
    id: string,
    graceMs: number,
    secretsTo?: SecretsTo,
  ): Promise<CreatedTrigger> {
    return this.#changing(caller.scope, async (tx) => {
      const before = present(await lockTrigger(caller.scope, tx, id));
      if (before.secret_id === null && !hasSecret(parseTriggerConfig(before.trigger_type, before.config))) {
        throw new PlatformError('conflict', {
          message: 'Only triggers of type webhook and triggers with a callback have a secret.',
        });
      }
      const secret = this.#newSecret();
      const secretId = await this.#parts.vault.putOwned(tx, ownerOf(id), actorOf(caller), secret, graceMs);
      const row = await setFormerSecret(caller.scope, tx, id, { secretId, graceMs });
      await this.#audit(tx, caller, 'trigger.secret-rotated', row);
      return { result: { row, secret: await this.#handOver(tx, caller, id, secret, secretsTo) }, id };
    });
  }

  delete(caller: TenantCaller, id: string): Promise<void> {
    return this.#changing(caller.scope, async (tx) => {
      const row = present(await lockTrigger(caller.scope, tx, id));
      await this.#parts.vault.deleteOwned(tx, ownerOf(id));
      await deleteTrigger(caller.scope, tx, id);
      await this.#audit(tx, caller, 'trigger.deleted', row);
      return { result: undefined, id };
    });
  }

  #parsedConfig(type: TriggerType, config: JsonObject): TriggerConfig {
    refuseUnknownSettings(type, config);
    const parsed = parseTriggerConfig(type, config);
    checkOutbound(parsed, this.#parts.egress);
    checkSettings(parsed, this.#parts.nowMs());
    return parsed;
  }

  async #requireAgent({ scope, role }: TenantCaller, agentId: string): Promise<void> {
    const agent = await this.#parts.agents.runnableAgent(scope, agentId, role);
    if (agent === undefined) throw new PlatformError('agent_not_found');
  }

  /** In the trigger's transaction: a trigger whose secret nobody can read would have to be rotated. */
  async #handOver(
    tx: TenantTransaction,
    caller: TenantCaller,
    id: string,
    secret: string,
    secretsTo: SecretsTo,
  ): Promise<NewTriggerSecret> {
    if (secretsTo === undefined) return { webhook_secret: secret };
    const name = `webhook-${id}`;
    await this.#parts.vault.putNamed(tx, actorOf(caller), name, secret);
    return { webhook_secret_ref: name };
  }

  /** In the secret format of Standard Webhooks, since callbacks are signed with it. */
  #newSecret(): string {
    return `whsec_${Buffer.from(this.#parts.random.bytes(32)).toString('base64')}`;
  }

  async #arming<Result>(
    scope: TenantScope,
    work: (tx: TenantTransaction) => Promise<{ readonly result: Result; readonly row: TriggerRow }>,
  ): Promise<Result> {
    const { result, row } = await this.#changing(scope, async (tx) => {
      const changed = await work(tx);
      return { result: changed, id: changed.row.id };
    });
    this.#parts.armed(scope, row);
    return result;
  }

  async #changing<Result>(
    scope: TenantScope,
    work: (tx: TenantTransaction) => Promise<{ readonly result: Result; readonly id: string }>,
  ): Promise<Result> {
    const { store, feed } = this.#parts;
    const { result, change } = await store.inTenant(scope, async (tx) => {
      const done = await work(tx);
      return { result: done.result, change: await announceTrigger(tx, done.id) };
    });
    await settled(feed, change);
    return result;
  }

  async #audit(
    tx: TenantTransaction,
    caller: TenantCaller,
    action: string,
    { id, name, trigger_type: type }: TriggerRow,
  ): Promise<void> {
    await recordAudit(tx, {
      tenantId: caller.scope.tenantId,
      actor: actorOf(caller),
      action,
      subject: `trigger:${id}`,
      details: { name, type },
    });
  }
}

/** Senders sign requests with it, and the platform signs callbacks. */
function hasSecret({ type, config }: TriggerConfig): boolean {
  return takesRequests(type) || config.execution.callback !== undefined;
}

/** The name of a trigger's own secret in the vault. */
function ownerOf(id: string): string {
  return `trigger:${id}`;
}

export function present(row: TriggerRow | null): TriggerRow {
  if (row === null) throw new PlatformError('not_found', { message: 'The trigger was not found.' });
  return row;
}
