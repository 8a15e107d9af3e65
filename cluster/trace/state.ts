import type { ClusterConfig } from '../config.js';
import type { ProcessId } from '../ids/ids.js';
import type { Because } from '../membership/gone-processes.js';
import type { Instant } from '../membership/lease-clock.js';
import type { Facts } from './facts.js';
import type { Traced } from './events.js';

export type TraceConfig = Pick<
  ClusterConfig,
  'leaseMs' | 'leaseActMs' | 'leaseMarginMs' | 'memberStoreAwayMs'
>;

interface Gone {
  readonly atMs: number;
  readonly wasFree: boolean;
  readonly because: Because;
}

/** What one process has done so far, as its events say. All times are its own. */
export class ProcessState {
  readonly id: ProcessId;
  /** Start of the right to act. */
  from: Instant | undefined;
  readonly #renewals: { readonly atMs: number; readonly from: Instant }[] = [];
  view = 0;
  members: readonly ProcessId[] = [];
  isOut = false;
  leaving = false;
  /** Until when promises bind it. */
  readonly boundUntilMs = new Map<ProcessId, number>();
  readonly gone = new Map<ProcessId, Gone>();
  /** Epochs of its activations by actor, and those that have ended. */
  readonly epochs = new Map<string, number>();
  readonly ended = new Set<string>();
  /** Processes that left its view; for each activation, those that had left before it. */
  readonly departed = new Set<ProcessId>();
  readonly departedBefore = new Map<string, readonly ProcessId[]>();

  constructor(id: ProcessId) {
    this.id = id;
  }

  get isMember(): boolean {
    return this.members.includes(this.id);
  }

  /** Since the start of the last renewal that was known then to have succeeded. */
  awayMs(at: Instant): number {
    const last = this.#renewals.findLast(({ atMs }) => atMs <= at.monotonicMs);
    return last === undefined ? Number.POSITIVE_INFINITY : between(last.from, at);
  }

  /** Moves on over an event that the rules allow. */
  apply(traced: Traced): void {
    const atMs = traced.at.monotonicMs;
    switch (traced.event) {
      case 'renewing':
        this.leaving = traced.leaving;
        break;
      case 'renew':
        this.from = traced.from;
        this.#renewals.push({ atMs, from: traced.from });
        break;
      case 'confirm':
        this.from = traced.from;
        break;
      case 'promise':
        this.boundUntilMs.set(traced.to, atMs + traced.forMs);
        break;
      case 'adopt':
        for (const member of this.members) if (!traced.members.includes(member)) this.departed.add(member);
        this.view = traced.view;
        this.members = traced.members;
        break;
      case 'gone':
        this.gone.set(traced.peer, { atMs, wasFree: traced.wasFree, because: traced.because });
        break;
      case 'fence':
      case 'release':
        this.isOut = true;
        break;
      case 'acquire':
        this.epochs.set(traced.actor, traced.epoch);
        this.departedBefore.set(traced.actor, [...this.departed]);
        break;
      case 'hand_over':
        this.ended.add(activationKey(traced));
        break;
      default:
    }
  }
}

export function activationKey({ actor, epoch }: { readonly actor: string; readonly epoch: number }): string {
  return `${actor} ${epoch}`;
}

/** The state in which an event is judged: that of its process, and what all traces say. */
export interface Situation {
  readonly self: ProcessState;
  readonly facts: Facts;
  readonly config: TraceConfig;
}

/** By the clock that says that more time has passed. */
export function between(from: Instant, to: Instant): number {
  return Math.max(to.monotonicMs - from.monotonicMs, to.wallMs - from.wallMs);
}
