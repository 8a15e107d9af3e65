/**
 * One call to a model: attempts, one after the other, until one answers or the policy stops.
 *
 * The caller receives one answer of one model. Start-up events are held back until the first content, thought or tool
 * call, so that a switch before it is invisible; after it there is no other attempt. The closing events (usage, stop)
 * leave only after `afterAttempt` returned, so that a complete answer is recorded in the ledger before it is read.
 */
import type { AttemptReport } from './attempt-report.js';
import { AttemptRun } from './attempt-run.js';
import {
  defaultCallLimits,
  type Call,
  type CallDeadline,
  type CallOutcome,
  type CallPorts,
} from './call-ports.js';
import type { LlmEvent } from './contract.js';
import type { LeaveSignal } from '../kernel/leave-signal.js';
import type { Ready } from '../kernel/ready.js';
import type { CallPlan, Target } from './routing/plan.js';
import { decideNext } from './routing/retry-policy.js';
import { VendorError } from './vendor-error.js';

/**
 * Takes the events of one socket read, so that they can leave in one write. Nothing more is emitted while the returned
 * promise is pending.
 */
export type Hear = (events: readonly LlmEvent[]) => Ready<void>;

/**
 * Resolves when the call has ended; `signal` ends it earlier. Events are pushed, since a generator would need five
 * promises per batch, and most answers come in one.
 */
export async function runCall(call: Call, ports: CallPorts, hear: Hear): Promise<CallOutcome> {
  const limits = call.limits ?? defaultCallLimits;
  const deadline = deadlineOf(call, limits.callMs, ports);
  const attempts: AttemptReport[] = [];
  const isLate = (): boolean => ports.time.monotonicMs() >= deadline.atMs;
  const [earliest] = call.plan.targets;
  // Before a target is chosen, which may take the probe of its breaker.
  if (earliest !== undefined && isLate()) return tooLate(attempts, earliest, deadline);
  let index = firstTarget(call.plan, ports);
  let retriesHere = 0;
  let clockRetries = 0;
  for (;;) {
    const target = call.plan.targets[index];
    if (target === undefined) return unserved(attempts);
    if (attempts.length > 0 && isLate()) return tooLate(attempts, target, deadline);
    const run = new AttemptRun(call, ports, target, attempts.length + 1, limits, deadline);
    await run.open();
    let report: AttemptReport;
    try {
      await handOut(run, hear);
    } finally {
      // Also if `hear` failed: the vendor's connection is closed and the attempt is recorded.
      report = run.settle();
      attempts.push(report);
      await ports.afterAttempt?.(report);
    }
    if (report.outcome === 'completed') {
      const heard = hear(run.closing(report));
      if (heard !== undefined) await heard;
      return { kind: 'completed', attempts, error: undefined, answering: true };
    }
    const error = report.error ?? new VendorError('transport', 'no answer', { vendor: target.model.vendor });
    const ended = { attempts, error, answering: run.signalled };
    if (report.outcome === 'cancelled') return { kind: 'cancelled', ...ended };
    const decision = decideNext({
      error,
      targets: call.plan.targets,
      index,
      retriesHere,
      clockRetries,
      attempts: attempts.length,
      signalled: run.signalled,
      mayEnlarge: call.plan.mayEnlarge,
      remainingMs: deadline.atMs - ports.time.monotonicMs(),
      isOpen: (other) => isOpen(other, ports),
      chance: ports.chance(),
    });
    if (decision.kind === 'stop') return { kind: 'failed', ...ended };
    if (decision.kind === 'switch') {
      index = decision.index;
      retriesHere = 0;
      clockRetries = 0;
      continue;
    }
    if (error.failure === 'timeout') clockRetries += 1;
    else retriesHere += 1;
    if (!(await waited(decision.afterMs, call.signal, ports))) return { kind: 'cancelled', ...ended };
  }
}

async function handOut(run: AttemptRun, hear: Hear): Promise<void> {
  for (;;) {
    const batch = run.take();
    if (batch !== undefined) {
      const heard = hear(batch);
      if (heard !== undefined) await heard;
    } else if (run.ended) return;
    else await run.wait();
  }
}

function deadlineOf(call: Call, callMs: number, ports: CallPorts): CallDeadline {
  const callEndsAtMs = ports.time.monotonicMs() + callMs;
  const { turnDeadlineMs } = call;
  if (turnDeadlineMs === undefined || turnDeadlineMs >= callEndsAtMs) {
    return { atMs: callEndsAtMs, clock: 'call' };
  }
  return { atMs: turnDeadlineMs, clock: 'turn' };
}

/** No vendor is asked for an answer that would come after its deadline. */
function tooLate(attempts: readonly AttemptReport[], target: Target, { clock }: CallDeadline): CallOutcome {
  const { vendor } = target.model;
  const error = new VendorError('timeout', `the ${clock} clock ran out`, { vendor, clock });
  return { kind: 'failed', attempts, error, answering: false };
}

/**
 * The first target whose breaker admits it. If none does, the first one is asked all the same: to assume that it still
 * fails would be a refusal without a reason.
 */
function firstTarget(plan: CallPlan, ports: CallPorts): number {
  const open = plan.targets.findIndex((target) =>
    ports.breakers.admits(target.model.vendor, target.credential.id, ports.time.monotonicMs()),
  );
  return Math.max(0, open);
}

function isOpen(target: Target, ports: CallPorts): boolean {
  return ports.breakers.isOpen(target.model.vendor, target.credential.id, ports.time.monotonicMs());
}

function unserved(attempts: readonly AttemptReport[]): CallOutcome {
  const error = new VendorError('unavailable', 'no vendor is available for the call', { vendor: 'none' });
  return { kind: 'failed', attempts, error, answering: false };
}

/** False if the caller left in the meantime. */
function waited(delayMs: number, signal: LeaveSignal, ports: CallPorts): Promise<boolean> {
  if (signal.aborted) return Promise.resolve(false);
  if (delayMs <= 0) return Promise.resolve(true);
  return new Promise((resolve) => {
    const onAbort = (): void => {
      signal.removeEventListener('abort', onAbort);
      timer.cancel();
      resolve(false);
    };
    const timer = ports.time.after(delayMs, () => {
      signal.removeEventListener('abort', onAbort);
      resolve(true);
    });
    signal.addEventListener('abort', onAbort);
  });
}
