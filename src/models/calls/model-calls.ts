/**
 * Model calls of tenants. Between a caller and the vendors stand the tenant's own keys and the plan's tiers (which
 * models may be asked), the month's quota (only if the platform pays), and the ledger (before and after each attempt).
 */
import { type Ready, whenReady } from '../../kernel/ready.js';
import type { TenantLimits } from '../../kernel/caller.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import {
  addUsage,
  type CallOutcome,
  type CatalogueModel,
  CircuitBreakers,
  costOf,
  type Credential,
  type Hear,
  KeyLoads,
  type ModelKind,
  Observations,
  type Routing,
  runCall,
  type StopReason,
  sumOfCosts,
  type Target,
  type Usage,
  type VendorError,
  VendorPools,
  zeroUsage,
} from '../../llm/index.js';
import { type Time, within } from '../../../cluster/index.js';
import type { Spans } from '../../infra/diagnostics/index.js';
import type { KeyRules } from '../../tenancy/keys/index.js';
import { type AppliedBudget, appliedBudget, type Quota } from '../../tenancy/quota/index.js';
import type { Ledger } from '../usage/index.js';
import type { CallOrder } from './call-order.js';
import { CallLedger } from './call-ledger.js';
import type { CallMeasures } from './call-measures.js';
import { hitRow } from './call-rows.js';
import { CallSpans } from './call-spans.js';
import { allowsModel, type ChosenTargets, chooseTargets, keyringOf } from './choose-targets.js';
import { modelsMeant } from './closest-models.js';
import type { Answer } from './stored-reply.js';
import type { OwnKeys } from './tenant-keys.js';
import type { VendorAccess } from './vendor-access.js';
import { refusalOf } from './platform-failure.js';

export interface ModelCallParts {
  readonly access: VendorAccess;
  readonly ownKeys: OwnKeys;
  readonly ledger: Ledger;
  /** Whether the tenant may use the platform's vendor keys besides the simulated vendor; absent: every tenant may. */
  readonly mayUsePlatformKeys?: ((scope: TenantScope) => Ready<boolean>) | undefined;
  /** What the key of a call may ask for and spend; absent: everything. */
  readonly keyRules?: ((scope: TenantScope, keyId: string) => Ready<KeyRules>) | undefined;
  readonly quota: Pick<
    Quota,
    'monthlyRefusal' | 'reserveTokens' | 'settleTokens' | 'reserveCost' | 'settleCost' | 'budgetRefusal'
  >;
  readonly time: Time;
  readonly processId: string;
  readonly chance: () => number;
  /** Told when a vendor refuses a key of the platform. */
  readonly onKeyRefused?: ((credential: Credential, error: VendorError) => void) | undefined;
  readonly newId: () => string;
  /** Counts what calls do; absent: nothing is counted. */
  readonly measures?: CallMeasures | undefined;
  /** Records a span for each attempt; absent: nobody reads them. */
  readonly spans?: Spans | undefined;
}

export type Payer = 'platform' | 'tenant';

/** A call with a complete answer. */
export interface ServedCall {
  readonly callId: string;
  readonly model: string;
  readonly vendor: string;
  /** Undefined for a cached answer: no vendor was asked. */
  readonly payer: Payer | undefined;
  readonly stop: StopReason | undefined;
  /** The answer comes from the response cache. */
  readonly cached: boolean;
  /** Of the attempt that answered; the ledger holds the others. */
  readonly usage: Usage;
  /** Of all attempts, in dollars. */
  readonly cost: number;
  readonly latencyMs: number;
  /** From the start of the attempt that answered to its first content, thought or tool call. */
  readonly firstSignalMs: number | undefined;
  readonly routing: Routing | undefined;
}

export interface Spent {
  readonly usage: Usage;
  readonly cost: number;
  /** The platform paid for an attempt, so the tenant's month has admitted the call. */
  readonly admitted: boolean;
}

/** A call under way. */
export interface RunningCall {
  /** The target of the current attempt; after the first piece, that of the answer. Undefined for a cached answer. */
  readonly target: Target | undefined;
  /** What all attempts cost together. Set when the call has ended, also after a failure. */
  readonly spent?: Spent | undefined;
  /** Makes the call and emits its events. Call it once. Returns undefined if the caller left; throws a refusal. */
  run(hear: Hear): Promise<ServedCall | undefined>;
}

/** Starts a call that was prepared; nothing is sent before it runs. */
export interface CallStart {
  (): RunningCall;
  /** The models that the caller's API key may ask for; null: all. */
  readonly allowedModels: readonly string[] | null;
  /** The model that is asked first: for a name the one that it means. */
  readonly first?: Pick<CatalogueModel, 'id' | 'name'> | undefined;
}

/** The fields of a running call that change while it runs. */
type UnderWay = { target: RunningCall['target']; spent?: RunningCall['spent'] };

interface PreparedCall extends ChosenTargets {
  /** What the call counts against. */
  readonly budgets: readonly AppliedBudget[];
  readonly allowedModels: readonly string[] | null;
}

/** Longer than one commit takes. A row that is not closed by then is closed with its estimate by the next node. */
const recordingMsMax = 3_000;

export class ModelCalls {
  readonly #parts: ModelCallParts;
  readonly #pools = new VendorPools();
  readonly #breakers: CircuitBreakers;
  readonly #observations = new Observations();
  readonly #loads = new KeyLoads();
  #running = 0;
  #idle: (() => void) | undefined;

  constructor(parts: ModelCallParts) {
    this.#parts = parts;
    this.#breakers = new CircuitBreakers((vendor, state) => parts.measures?.moved(vendor, state));
  }

  /** The number of keys of each vendor that are left out because of failures. */
  openBreakers(): ReadonlyMap<string, number> {
    return this.#breakers.open(this.#parts.time.monotonicMs());
  }

  /** Chooses the targets, or throws the refusal. */
  prepare(order: CallOrder): Ready<CallStart> {
    const startedAtMs = this.#parts.time.monotonicMs();
    return whenReady(this.#choose(order), (chosen) => {
      const start = (): RunningCall => {
        const call: UnderWay & RunningCall = {
          target: chosen.plan.targets[0],
          spent: undefined,
          run: (hear) => this.#run(order, chosen, call, startedAtMs, hear),
        };
        return call;
      };
      const first = chosen.plan.targets[0]?.model;
      return Object.assign(start, { allowedModels: chosen.allowedModels, first });
    });
  }

  /**
   * Throws the error that would refuse the call before a vendor is asked: an unknown or unavailable model, the tier, a
   * used-up month. For work that is accepted before its first call is made.
   */
  async preflight(order: CallOrder): Promise<void> {
    const { plan, budgets } = await this.#choose(order);
    if (order.alreadyAdmitted === true) return;
    const spent = await this.#parts.quota.budgetRefusal(order.scope, budgets);
    if (spent !== undefined) throw spent;
    if (plan.targets[0]?.credential.payer !== 'platform') return;
    const refusal = await this.#parts.quota.monthlyRefusal(order.scope, order.limits);
    if (refusal !== undefined) throw refusal;
  }

  /** ` Did you mean …?` for a model that does not exist, from the models that the tenant can call. */
  async modelsMeant(
    scope: TenantScope,
    limits: TenantLimits,
    model: string,
    kind?: ModelKind,
  ): Promise<string> {
    const { access, ownKeys } = this.#parts;
    return modelsMeant(model, access.catalogue, keyringOf(await ownKeys.of(scope), access), limits, kind);
  }

  #choose(order: CallOrder): Ready<PreparedCall> {
    return whenReady(this.#rulesOf(order), (rules) =>
      whenReady(this.#chooseFor(order, rules), (chosen) => ({
        ...chosen,
        budgets: budgetsOf(order, rules),
        allowedModels: rules?.allowedModels ?? null,
      })),
    );
  }

  #rulesOf({ scope, keyId }: CallOrder): Ready<KeyRules | undefined> {
    const { keyRules } = this.#parts;
    return keyId === null || keyRules === undefined ? undefined : keyRules(scope, keyId);
  }

  #chooseFor(order: CallOrder, rules: KeyRules | undefined): Ready<ChosenTargets> {
    const { access, mayUsePlatformKeys, ownKeys, time } = this.#parts;
    return whenReady(mayUsePlatformKeys?.(order.scope) ?? true, (platformKeys) =>
      whenReady(ownKeys.of(order.scope), (own) =>
        chooseTargets(order, own, {
          mayAsk: (model) => allowsModel(rules?.allowedModels, model),
          access,
          platformKeys,
          breakers: this.#breakers,
          observations: this.#observations,
          loads: this.#loads,
          nowMs: () => time.monotonicMs(),
        }),
      ),
    );
  }

  /** Records a call that the response cache served. It began at `startedAtMs` by the monotonic clock. */
  recordHit(order: CallOrder, answer: Answer, startedAtMs: number): Promise<void> {
    const { ledger, time, newId, measures } = this.#parts;
    measures?.lookedUp('hit');
    measures?.ended(answer.vendor, answer.model, 'cached', order.scope.tenantId);
    const responseMs = time.monotonicMs() - startedAtMs;
    const startedAt = new Date(time.wallMs() - responseMs).toISOString();
    return ledger.record(hitRow(order, newId(), answer, { startedAt, responseMs }));
  }

  /** Returns which vendors the tenant can call, with a key of the platform or its own. */
  async vendorsOf(scope: TenantScope): Promise<(vendor: string) => boolean> {
    const { access, mayUsePlatformKeys, ownKeys } = this.#parts;
    const own = await ownKeys.of(scope);
    const platformKeys = (await mayUsePlatformKeys?.(scope)) ?? true;
    return (vendor) =>
      own.has(vendor) || ((platformKeys || vendor === 'sim') && access.keys.platform(vendor).length > 0);
  }

  /** Aborts the running calls and waits until they are recorded. */
  async close(): Promise<void> {
    await this.#pools.close();
    const idle = new Promise<void>((resolve) => {
      this.#idle = resolve;
      if (this.#running === 0) resolve();
    });
    await within(this.#parts.time, recordingMsMax, idle, () => undefined);
  }

  /** `close` waits for a call from its start until it is recorded. */
  async #run(
    order: CallOrder,
    chosen: PreparedCall,
    call: UnderWay,
    startedAtMs: number,
    hear: Hear,
  ): Promise<ServedCall | undefined> {
    const { time, newId } = this.#parts;
    const callId = newId();
    const callLedger = new CallLedger(
      this.#parts,
      { ...order, budgets: chosen.budgets },
      callId,
      startedAtMs,
      (start) => {
        call.target = start.target;
      },
    );
    let outcome: CallOutcome;
    this.#running += 1;
    try {
      outcome = await this.#carry(order, chosen, callLedger, hear);
    } finally {
      try {
        // Nearly always the last attempt has already recorded the call.
        const ending = callLedger.end();
        if (ending !== undefined) await ending;
      } finally {
        this.#running -= 1;
        if (this.#running === 0) this.#idle?.();
      }
    }
    call.spent = spentIn(outcome);
    this.#count(order, chosen, outcome);
    if (outcome.kind === 'cancelled') return undefined;
    if (outcome.kind === 'failed') throw refusalOf(outcome, chosen);
    return served(callId, outcome, chosen, time.monotonicMs() - startedAtMs);
  }

  /** A call that ended before its first attempt counts for the model that was chosen first. */
  #count({ scope }: CallOrder, { plan }: ChosenTargets, { kind, attempts }: CallOutcome): void {
    const model = (attempts.at(-1)?.target ?? plan.targets[0])?.model;
    if (model !== undefined) this.#parts.measures?.ended(model.vendor, model.id, kind, scope.tenantId);
  }

  #carry(order: CallOrder, chosen: ChosenTargets, callLedger: CallLedger, hear: Hear): Promise<CallOutcome> {
    const { time, chance, newId, access, measures } = this.#parts;
    const spans = this.#parts.spans && new CallSpans(this.#parts.spans, order);
    const { clocks, turnDeadlineMs, mayBegin } = order;
    return runCall(
      {
        plan: chosen.plan,
        request: order.request,
        signal: order.signal,
        ...(clocks !== undefined && { limits: clocks }),
        ...(turnDeadlineMs !== undefined && { turnDeadlineMs }),
        ...(mayBegin !== undefined && { mayBegin }),
      },
      {
        time,
        chance,
        // A call that is made again, by this process or another, costs again: its attempts need rows of their own.
        newId,
        pools: this.#pools,
        adapterOf: (vendor) => access.adapters.get(vendor),
        breakers: this.#breakers,
        observations: this.#observations,
        loads: this.#loads,
        onKeyRefused: (credential, error) => this.#parts.onKeyRefused?.(credential, error),
        beforeAttempt:
          spans === undefined
            ? callLedger.beforeAttempt
            : async (start) => {
                await callLedger.beforeAttempt(start);
                spans.begin(start);
              },
        afterAttempt: (report) => {
          spans?.end(report);
          measures?.attempted(report, order.scope.tenantId);
          return callLedger.afterAttempt(report);
        },
      },
      hear,
    );
  }
}

function budgetsOf(
  { scope, limits, keyId, agentId, agentBudget }: CallOrder,
  rules: KeyRules | undefined,
): readonly AppliedBudget[] {
  const budgets: AppliedBudget[] = [];
  if (keyId !== null && rules?.budget) budgets.push(appliedBudget('key', keyId, rules.budget));
  if (agentId !== undefined && agentBudget !== undefined)
    budgets.push(appliedBudget('agent', agentId, agentBudget));
  if (limits.budget !== undefined) budgets.push(appliedBudget('tenant', scope.tenantId, limits.budget));
  return budgets;
}

function spentIn({ attempts }: CallOutcome): RunningCall['spent'] {
  return {
    usage: attempts.reduce((sum, { usage }) => addUsage(sum, usage), zeroUsage),
    cost: costOfAll(attempts),
    admitted: attempts.some(({ payer }) => payer === 'platform'),
  };
}

function costOfAll(attempts: CallOutcome['attempts']): number {
  return sumOfCosts(attempts.map(({ usage, target }) => costOf(usage, target.model.price)));
}

function served(
  callId: string,
  { attempts }: CallOutcome,
  { routing }: ChosenTargets,
  latencyMs: number,
): ServedCall {
  const last = attempts.at(-1);
  if (last === undefined) throw new Error('A completed call has an attempt');
  const { model } = last.target;
  return {
    callId,
    model: model.id,
    vendor: model.vendor,
    payer: last.payer,
    stop: last.stop,
    cached: false,
    usage: last.usage,
    cost: costOfAll(attempts),
    latencyMs: Math.round(latencyMs),
    firstSignalMs: last.firstSignalMs,
    routing: routing === undefined ? undefined : explained(routing, model.id),
  };
}

/** Names the model that answered; the reason tells which model was chosen first. */
function explained(routing: Routing, answered: string): Routing {
  if (routing.model_chosen === answered) return routing;
  const reason = `${routing.reason ?? ''}; it did not answer, so ${answered} did`;
  return { ...routing, model_chosen: answered, reason };
}
