/**
 * Model calls as tenants make them. Between a caller and the vendors stand: the tenant's own keys and the plan's tiers
 * (who may be asked), the month's quota (only where the platform pays), and the books (before and after each attempt).
 */
import { PlatformError } from '../errors.js';
import type { TenantScope } from '../context/tenant-scope.js';
import {
  type AttemptReport,
  type AttemptStart,
  type CallOutcome,
  CircuitBreakers,
  costOf,
  defaultCallLimits,
  type LlmEvent,
  Observations,
  platformFailure,
  type Routing,
  runCall,
  type StopReason,
  type Target,
  type Usage,
  VendorPools,
} from '../llm/index.js';
import type { Time } from '../../cluster/index.js';
import type { Quota } from '../quota/index.js';
import type { Ledger } from '../usage/index.js';
import type { CallOrder } from './call-order.js';
import { type ChosenTargets, chooseTargets } from './choose-targets.js';
import type { OwnKeys } from './own-keys.js';
import { closedRow, openedRow } from './usage-rows.js';
import type { VendorAccess } from './vendor-access.js';

export interface ModelCallParts {
  readonly access: VendorAccess;
  readonly ownKeys: OwnKeys;
  readonly ledger: Ledger;
  readonly quota: Pick<Quota, 'monthlyRefusal' | 'tokensBooked'>;
  readonly time: Time;
  readonly chance: () => number;
  readonly newId: () => string;
}

export type Payer = 'platform' | 'tenant';

/** A call that was answered whole. */
export interface ServedCall {
  readonly model: string;
  readonly vendor: string;
  /** Undefined where nobody was asked. */
  readonly payer: Payer | undefined;
  readonly stop: StopReason | undefined;
  /** The answer of an earlier call, given again. */
  readonly cached: boolean;
  /** Of the attempt that answered; the others are in the books. */
  readonly usage: Usage;
  /** Of all attempts, in dollars. */
  readonly cost: number;
  readonly latencyMs: number;
  readonly routing: Routing | undefined;
}

/** A call under way. */
export interface RunningCall {
  /** Of the present attempt: once something came, of the answer. Undefined where nobody is asked. */
  readonly target: Target | undefined;
  /** The answer's events as they come. Ends with undefined where the caller left, throws the refusal else. */
  readonly events: AsyncGenerator<readonly LlmEvent[], ServedCall | undefined, undefined>;
}

/** Longer than one commit takes; what is not booked by then is closed with its estimate by the next node. */
const bookingMsMax = 3_000;

export class ModelCalls {
  readonly #parts: ModelCallParts;
  readonly #pools = new VendorPools();
  readonly #breakers = new CircuitBreakers();
  readonly #observations = new Observations();
  readonly #running = new Set<Promise<void>>();

  constructor(parts: ModelCallParts) {
    this.#parts = parts;
  }

  /**
   * Chooses who is asked, or throws why nobody is. What it gives begins the call; nothing is sent before the first
   * event is asked for.
   */
  async prepare(order: CallOrder): Promise<() => RunningCall> {
    const startedAtMs = this.#parts.time.monotonicMs();
    const chosen = chooseTargets(order, await this.#parts.ownKeys.of(order.scope), {
      access: this.#parts.access,
      breakers: this.#breakers,
      observations: this.#observations,
      nowMs: () => this.#parts.time.monotonicMs(),
    });
    return () => {
      const call = { target: chosen.plan.targets[0] };
      return Object.assign(call, { events: this.#counted(this.#run(order, chosen, call, startedAtMs)) });
    };
  }

  /** Which vendors the tenant can call: by a key of the platform, or by one of its own. */
  async vendorsOf(scope: TenantScope): Promise<(vendor: string) => boolean> {
    const own = await this.#parts.ownKeys.of(scope);
    return (vendor) => own.has(vendor) || this.#parts.access.keys.platform(vendor) !== undefined;
  }

  /** Cuts what still runs, and waits until it is booked. */
  async close(): Promise<void> {
    await this.#pools.close();
    const patience = new Promise<void>((resolve) => {
      this.#parts.time.after(bookingMsMax, resolve);
    });
    await Promise.race([Promise.all(this.#running), patience]);
  }

  /** From its first event to its last, a call is one that `close` waits for. */
  async *#counted(events: RunningCall['events']): RunningCall['events'] {
    let ended: () => void = () => undefined;
    const running = new Promise<void>((resolve) => {
      ended = resolve;
    });
    this.#running.add(running);
    try {
      return yield* events;
    } finally {
      this.#running.delete(running);
      ended();
    }
  }

  async *#run(
    order: CallOrder,
    chosen: ChosenTargets,
    call: { target: Target | undefined },
    startedAtMs: number,
  ): RunningCall['events'] {
    const { time, chance, newId, access } = this.#parts;
    const books = this.#books(order, (start) => (call.target = start.target));
    const outcome = yield* runCall(
      { plan: chosen.plan, request: order.request, signal: order.signal },
      {
        time,
        chance,
        newId,
        pools: this.#pools,
        adapterOf: (vendor) => access.adapters.get(vendor),
        breakers: this.#breakers,
        observations: this.#observations,
        ...books,
      },
    );
    if (outcome.kind === 'cancelled') return undefined;
    if (outcome.kind === 'failed') throw refusalOf(outcome, chosen);
    return served(outcome, chosen, time.monotonicMs() - startedAtMs);
  }

  #books(order: CallOrder, onAttempt: (start: AttemptStart) => void) {
    const { ledger, quota, time, newId } = this.#parts;
    const callId = newId();
    let mayUsePool = false;
    return {
      beforeAttempt: async (start: AttemptStart): Promise<void> => {
        onAttempt(start);
        if (start.payer === 'platform' && !mayUsePool) {
          const refusal = await quota.monthlyRefusal(order.scope, order.limits);
          if (refusal !== undefined) throw refusal;
          // A call that was let in is served whole, also by a second attempt.
          mayUsePool = true;
        }
        const times = { wallMs: time.wallMs(), callMs: defaultCallLimits.callMs };
        await ledger.open(openedRow(order, callId, start, times));
      },
      afterAttempt: async (report: AttemptReport): Promise<void> => {
        await ledger.close(closedRow(order, report, time.wallMs()));
        if (report.payer === 'platform') quota.tokensBooked(order.scope);
      },
    };
  }
}

function refusalOf({ error, attempts }: CallOutcome, { tierRefusal }: ChosenTargets): PlatformError {
  const ownKeyRefused = error?.failure === 'credential' || error?.failure === 'exhausted';
  if (tierRefusal !== undefined && ownKeyRefused && attempts.at(-1)?.payer === 'tenant') return tierRefusal;
  return error === undefined ? new PlatformError('provider_error') : platformFailure(error);
}

function served({ attempts }: CallOutcome, { routing }: ChosenTargets, latencyMs: number): ServedCall {
  const last = attempts.at(-1);
  if (last === undefined) throw new Error('A completed call has an attempt');
  const { model } = last.target;
  return {
    model: model.id,
    vendor: model.vendor,
    payer: last.payer,
    stop: last.stop,
    cached: false,
    usage: last.usage,
    cost: attempts.reduce((sum, report) => sum + costOf(report.usage, report.target.model.price), 0),
    latencyMs: Math.round(latencyMs),
    routing: routing === undefined ? undefined : explained(routing, model.id),
  };
}

/** What was chosen is what answered; that another was meant to stands in the reason. */
function explained(routing: Routing, answered: string): Routing {
  if (routing.model_chosen === answered) return routing;
  const reason = `${routing.reason ?? ''}; it did not answer, so ${answered} did`;
  return { ...routing, model_chosen: answered, reason };
}
