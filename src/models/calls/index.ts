// The public interface of calls: model calls of tenants, from the endpoints to the vendors and the ledger.
import type { Random, Time } from '../../../cluster/index.js';
import type { Operation } from '../../http/operations/index.js';
import type { Quota } from '../../tenancy/quota/index.js';
import type { ChangeFeed, HotReads, SharedValues } from '../../infra/storage/index.js';
import type { Ledger } from '../usage/index.js';
import type { Vault } from '../../tenancy/vault/index.js';
import { ModelCalls } from './model-calls.js';
import { ModelPreflight } from './model-preflight.js';
import { compatOperations } from './compat-operations.js';
import { callOperations } from './operations.js';
import { OwnKeys } from './tenant-keys.js';
import { AnswerStore } from './reply-store.js';
import { ResponseCache } from './response-cache.js';
import type { VendorAccess } from './vendor-access.js';

export { callIdFrom, type CallOrder, callSources } from './call-order.js';
export type { ModelCalls, RunningCall, ServedCall } from './model-calls.js';
export { type AccessSettings, type VendorAccess, vendorAccess } from './vendor-access.js';

export interface CallsParts {
  readonly access: VendorAccess;
  readonly reads: HotReads;
  /** Reports changes of a tenant's own keys. Without it they are read with every call. */
  readonly feed?: ChangeFeed | undefined;
  readonly vault: Pick<Vault, 'resolve'>;
  readonly quota: Quota;
  readonly ledger: Ledger;
  /** Shares cached answers between nodes. Without it each node has its own cache. */
  readonly shared?: SharedValues | undefined;
  readonly time: Time;
  readonly random: Random;
  readonly newId: () => string;
  /** Unique among all processes, past and present. */
  readonly processId: string;
  readonly report: (attempted: string, error: unknown) => void;
}

export interface Calls {
  readonly operations: readonly Operation[];
  readonly models: ModelCalls;
  readonly preflight: ModelPreflight;
  close(): Promise<void>;
}

export function createCalls(parts: CallsParts): Calls {
  const { access, reads, feed, vault, quota, ledger, shared, time, processId, random, newId, report } = parts;
  const ownKeys = new OwnKeys({ reads, feed, vault, keys: access.keys, report });
  const chance = (): number => random.fraction();
  const calls = new ModelCalls({ access, ownKeys, ledger, quota, time, chance, newId, processId });
  const cache = new ResponseCache(new AnswerStore({ shared, time }));
  return {
    operations: [
      ...callOperations({ calls, cache, catalogue: access.catalogue, time, report }),
      ...compatOperations({ calls, catalogue: access.catalogue, time, newId, report }),
    ],
    models: calls,
    preflight: new ModelPreflight(access.catalogue, calls),
    close: async () => {
      ownKeys.close();
      await calls.close();
    },
  };
}
