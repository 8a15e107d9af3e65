// Model calls with all lower parts (keys, quota, ledger) on a real database, and no HTTP.
import { randomUUID } from 'node:crypto';
import { systemPlatform } from '../../../src/infra/platform/index.js';
import { systemRandom, systemTime, type Time } from '../../../cluster/index.js';
import {
  type AccessSettings,
  type CallOrder,
  type Calls,
  type CallsOptions,
  callSources,
  createCalls,
  vendorAccess,
} from '../../../src/models/calls/index.js';
import { AnswerFit } from '../../../src/models/response-format/index.js';
import type { TenantScope } from '../../../src/kernel/tenant-scope.js';
import { LeaveController, type LlmRequest } from '../../../src/llm/index.js';
import { limitsOf } from '../../../src/kernel/plans/index.js';
import { createQuota } from '../../../src/tenancy/quota/index.js';
import { openBatchWriters, openHotReads, openStore, type Store } from '../../../src/infra/storage/index.js';
import { Ledger, ledgerRows, openAttempts } from '../../../src/models/usage/index.js';

export interface CallsRig {
  readonly store: Store;
  readonly ledger: Ledger;
  readonly calls: Calls;
  close(): Promise<void>;
}

export interface CallsRigOptions {
  readonly databaseUrl: string;
  readonly vendors: AccessSettings['vendors'];
  /** The operator's names of models. */
  readonly aliases?: AccessSettings['aliases'];
  /** The clock of the calls; the store, the quota and the ledger keep the system's. */
  readonly time?: Time;
  readonly processId?: string;
  /** Opens the tenants' own keys; absent: nobody has one. */
  readonly vault?: CallsOptions['vault'];
  readonly report?: (attempted: string, error: unknown) => void;
}

export async function startCalls(options: CallsRigOptions): Promise<CallsRig> {
  const { databaseUrl, vendors, time = systemTime, report = () => undefined } = options;
  const store = await openStore({ databaseUrl });
  const reads = openHotReads({ databaseUrl, time: systemTime });
  const writers = openBatchWriters({ databaseUrl, time: systemTime, random: systemRandom });
  const log = { report, note: () => undefined };
  const platform = { ...systemPlatform, store, reads, writers, log };
  const quota = createQuota(platform, {
    dailyLimits: true,
    openAttempts: (scope) => openAttempts(store, scope),
  });
  const ledger = new Ledger({ ...platform, rows: ledgerRows(store) });
  const ofCalls = { ...platform, time };
  const calls = createCalls(ofCalls, {
    access: vendorAccess({ vendors, compatible: [], models: [], aliases: options.aliases ?? {}, sim: true }),
    vault: options.vault ?? noVault,
    quota,
    ledger,
    processId: options.processId ?? randomUUID(),
    // Direct calls by HTTP need them; the calls of this rig are made without.
    readParts: () => Promise.resolve([]),
    checkUrl: () => undefined,
    fit: new AnswerFit({ run: () => Promise.reject(new Error('no schema is checked here')) }),
  });
  return {
    store,
    ledger,
    calls,
    close: async () => {
      await calls.close();
      await ledger.stop();
      await quota.stop();
      await writers.close();
      await reads.close();
      await store.close();
    },
  };
}

const noVault = {
  resolve: (): never => {
    throw new Error('nobody here has a key of their own');
  },
};

/** By default, a direct call in a tenant. */
export function orderOf(
  scope: TenantScope,
  request: Partial<LlmRequest>,
  more: Partial<CallOrder> = {},
): CallOrder {
  return {
    scope,
    limits: limitsOf('enterprise', {}),
    source: callSources.direct,
    keyId: null,
    userId: null,
    model: 'openai.gpt-4.1-mini',
    request: {
      messages: [{ role: 'user', content: [{ type: 'text', text: 'say hello' }] }],
      stream: true,
      ...request,
    },
    signal: new LeaveController(),
    ...more,
  };
}
