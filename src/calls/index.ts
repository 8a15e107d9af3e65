// The face of calls: model calls by tenants, from the endpoints to the vendors and the books.
import type { Random, Time } from '../../cluster/index.js';
import type { Operation } from '../operations/index.js';
import type { Quota } from '../quota/index.js';
import type { HotReads } from '../storage/index.js';
import type { Ledger } from '../usage/index.js';
import type { Vault } from '../vault/index.js';
import { ModelCalls } from './model-calls.js';
import { doorOperations } from './door-operations.js';
import { callOperations } from './operations.js';
import { OwnKeys } from './own-keys.js';
import { answersInMemory, ResponseCache } from './response-cache.js';
import type { VendorAccess } from './vendor-access.js';

export type { CallOrder } from './call-order.js';
export type { ModelCalls, RunningCall, ServedCall } from './model-calls.js';
export { type AccessSettings, type VendorAccess, vendorAccess } from './vendor-access.js';

export interface CallsParts {
  readonly access: VendorAccess;
  readonly reads: HotReads;
  readonly vault: Vault;
  readonly quota: Quota;
  readonly ledger: Ledger;
  readonly time: Time;
  readonly random: Random;
  readonly newId: () => string;
  readonly report: (attempted: string, error: unknown) => void;
}

export interface Calls {
  readonly operations: readonly Operation[];
  readonly models: ModelCalls;
  close(): Promise<void>;
}

export function createCalls(parts: CallsParts): Calls {
  const { access, reads, vault, quota, ledger, time, random, newId, report } = parts;
  const ownKeys = new OwnKeys({ reads, vault, keys: access.keys, report });
  const chance = (): number => random.fraction();
  const calls = new ModelCalls({ access, ownKeys, ledger, quota, time, chance, newId });
  const cache = new ResponseCache(answersInMemory(() => time.monotonicMs()));
  return {
    operations: [
      ...callOperations({ calls, cache, catalogue: access.catalogue, report }),
      ...doorOperations({ calls, catalogue: access.catalogue, time, newId, report }),
    ],
    models: calls,
    close: () => calls.close(),
  };
}
