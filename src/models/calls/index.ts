// The public interface of calls: model calls of tenants, from the endpoints to the vendors and the ledger.
import type { Operation } from '../../http/operations/index.js';
import type { Platform } from '../../infra/platform/index.js';
import type { KeyRules } from '../../tenancy/keys/index.js';
import type { Quota } from '../../tenancy/quota/index.js';
import type { Ledger } from '../usage/index.js';
import type { Vault } from '../../tenancy/vault/index.js';
import type { Ready } from '../../kernel/ready.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { ReadParts } from '../parts/index.js';
import type { AnswerFit } from '../response-format/index.js';
import type { Spans, TenantLabels } from '../../infra/diagnostics/index.js';
import { CallMeasures } from './call-measures.js';
import { ModelCalls } from './model-calls.js';
import { ModelPreflight } from './model-preflight.js';
import { compatModelOperations } from './compat-model-operations.js';
import { embeddingOperations } from './embedding-operations.js';
import { compatOperations } from './compat-operations.js';
import { callOperations } from './operations.js';
import { providerKeyOperations } from './provider-key-operations.js';
import { OwnKeys } from './tenant-keys.js';
import { AnswerStore, type SharedAnswers } from './reply-store.js';
import { ResponseCache } from './response-cache.js';
import type { VendorAccess } from './vendor-access.js';

export { type CallOrder, callSources } from './call-order.js';
export type { ModelCalls, RunningCall, ServedCall } from './model-calls.js';
export { compatRefusals, payerHeaders, toNobody } from './replies.js';
export { streamedAnswer } from './stream-answer.js';
export { type AccessSettings, type VendorAccess, vendorAccess } from './vendor-access.js';

/** `changes` reports changes of a tenant's own keys. Without it they are read with every call. */
export type CallsPlatform = Pick<Platform, 'reads' | 'time' | 'ids' | 'random' | 'log'> &
  Partial<Pick<Platform, 'changes'>>;

export interface CallsOptions {
  readonly access: VendorAccess;
  /** Whether the tenant may use the platform's vendor keys besides the simulated vendor; absent: every tenant may. */
  readonly mayUsePlatformKeys?: ((scope: TenantScope) => Ready<boolean>) | undefined;
  /** What the key of a call may ask for and spend; absent: everything. */
  readonly keyRules?: ((scope: TenantScope, keyId: string) => Ready<KeyRules>) | undefined;
  readonly vault: Pick<Vault, 'resolve'>;
  readonly quota: Quota;
  readonly ledger: Ledger;
  /** Shares cached answers between nodes. Without it each node has its own cache. */
  readonly shared?: SharedAnswers | undefined;
  /** Unique among all processes, past and present. */
  readonly processId: string;
  readonly readParts: ReadParts;
  /** Refuses an address that may not be reached from here. */
  readonly checkUrl: (url: string, field: string) => unknown;
  readonly fit: AnswerFit;
  /** Counts calls for `/metrics`, with series for these tenants; absent: nothing is counted. */
  readonly tenants?: TenantLabels | undefined;
  readonly spans?: Spans | undefined;
}

export interface Calls {
  readonly operations: readonly Operation[];
  readonly models: ModelCalls;
  readonly preflight: ModelPreflight;
  /** The metrics of model calls on this node, in the Prometheus format. */
  measures(): Promise<string>;
  close(): Promise<void>;
}

export function createCalls(platform: CallsPlatform, options: CallsOptions): Calls {
  const { reads, changes: feed, time, ids, random, log } = platform;
  const { access, mayUsePlatformKeys, keyRules, vault, quota, ledger, shared, processId } = options;
  const { readParts, fit, tenants, spans } = options;
  const { report } = log;
  const newId = (): string => ids.uuid();
  const ownKeys = new OwnKeys({ reads, feed, vault, keys: access.keys, report });
  const chance = (): number => random.fraction();
  const measures =
    tenants === undefined
      ? undefined
      : new CallMeasures({ tenants, openBreakers: () => calls.openBreakers() });
  const calls: ModelCalls = new ModelCalls({
    access,
    mayUsePlatformKeys,
    keyRules,
    ownKeys,
    ledger,
    quota,
    time,
    chance,
    newId,
    processId,
    measures,
    spans,
    onKeyRefused: ({ vendor, place = `the key of ${vendor}` }, error) =>
      report(`asking ${vendor} with ${place}, which is left out for a while`, error),
  });
  const cache = new ResponseCache(new AnswerStore({ shared, time }), time, () => measures?.lookedUp('miss'));
  return {
    operations: [
      ...callOperations({ calls, cache, catalogue: access.catalogue, readParts, fit, time, report }),
      ...providerKeyOperations({ access, vault, time }),
      ...compatModelOperations({ calls, catalogue: access.catalogue, time }),
      ...embeddingOperations({ calls }),
      ...compatOperations({ calls, checkUrl: options.checkUrl, time, newId, report }),
    ],
    models: calls,
    measures: async () => (await measures?.text()) ?? '',
    preflight: new ModelPreflight(access.catalogue, calls),
    close: async () => {
      ownKeys.close();
      await calls.close();
    },
  };
}
