import type { TenantScope } from '../../kernel/tenant-scope.js';
import { storeTime, type TenantTransaction } from '../../infra/storage/index.js';
import type { TriggerRow } from '../triggers/triggers.store.js';
import {
  configAs,
  takesRequests,
  type TriggerConfig,
  type TriggerType,
  triggerTypes,
} from '../triggers/types/registry.js';
import type { TriggerSource } from './trigger-source.js';

/** The sources that this node polls, by the type of their triggers. Webhooks have none. */
export class Sources {
  readonly #byType: ReadonlyMap<TriggerType, TriggerSource>;

  constructor(all: readonly TriggerSource[]) {
    this.#byType = new Map(all.map((source) => [source.type, source]));
  }

  /** Throws if a type has neither a source nor requests: its triggers would be saved and never run. */
  requireAll(): this {
    const missing = triggerTypes.filter((type) => !takesRequests(type) && !this.#byType.has(type));
    if (missing.length > 0)
      throw new Error(`No source in src/automation/index.ts for ${missing.join(', ')}.`);
    return this;
  }

  get(type: TriggerType): TriggerSource | undefined {
    return this.#byType.get(type);
  }

  all(): readonly TriggerSource[] {
    return [...this.#byType.values()];
  }

  /** Updates the polling of a trigger's source in the transaction that changes the trigger. */
  async arm(
    tx: TenantTransaction,
    row: TriggerRow,
    { type, config }: TriggerConfig,
    beginning?: object,
  ): Promise<void> {
    const source = this.get(type);
    if (source !== undefined) await source.arm(tx, config, { row, now: await storeTime(tx), beginning });
  }

  /** Makes the checks that depend on other services; resolves to the start position, if it is a new one. */
  async beginning(
    scope: TenantScope,
    { type, config }: TriggerConfig,
    before?: TriggerConfig,
  ): Promise<object | undefined> {
    return this.get(type)?.beginning?.(scope, config, configAs(type, before));
  }

  /** Refuses settings that the tenant may not save; the id is undefined for a new trigger. */
  async checkSettings(
    scope: TenantScope,
    triggerId: string | undefined,
    { type, config }: TriggerConfig,
  ): Promise<void> {
    await this.get(type)?.checkSettings?.(scope, triggerId, config);
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#byType.values()].map(async (source) => source.stop?.()));
  }
}
