/**
 * One call to a model: attempts, one after the other, until one answers or the policy says stop.
 *
 * What leaves this generator is one answer of one model. Start-up events are held back until the first content,
 * thought or tool call, so that a switch before it cannot be seen; after it there is no other attempt. The closing
 * events (usage, stop) leave only after `afterAttempt` returned, so that nobody reads a complete answer that is not
 * booked yet.
 */
import type { AttemptReport } from './attempt-report.js';
import { AttemptRun } from './attempt-run.js';
import { defaultCallLimits, type Call, type CallOutcome, type CallPorts } from './call-ports.js';
import type { LlmEvent } from './contract.js';
import type { LeaveSignal } from './leave-signal.js';
import type { CallPlan, Target } from './routing/plan.js';
import { decideNext } from './routing/retry-policy.js';
import { VendorError } from './vendor-error.js';

/**
 * Yields the events of one socket read at a time, so that they can leave in one write. Ends by `signal`, not by
 * leaving the loop alone: a generator that waits for the vendor cannot be woken by `return`.
 */
export async function* runCall(
  call: Call,
  ports: CallPorts,
): AsyncGenerator<readonly LlmEvent[], CallOutcome, undefined> {
  const limits = call.limits ?? defaultCallLimits;
  const deadlineMs = ports.time.monotonicMs() + limits.callMs;
  const attempts: AttemptReport[] = [];
  let index = firstTarget(call.plan, ports);
  let retriesHere = 0;
  let clockRetries = 0;
  for (;;) {
    const target = call.plan.targets[index];
    if (target === undefined) return unserved(attempts);
    const run = new AttemptRun(call, ports, target, attempts.length + 1, limits, deadlineMs);
    await run.open();
    let report: AttemptReport;
    try {
      for (let batch = await run.next(); batch !== undefined; batch = await run.next()) yield batch;
    } finally {
      // Also where the reader left the loop without a word: the vendor is left, and the attempt is booked.
      report = await run.settle();
      attempts.push(report);
    }
    if (report.outcome === 'completed') {
      yield run.closing(report);
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
      remainingMs: deadlineMs - ports.time.monotonicMs(),
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

/**
 * The first target that is not left out. When all of them are, the first is asked all the same: a guess that it still
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
  const error = new VendorError('unavailable', 'nobody to ask', { vendor: 'none' });
  return { kind: 'failed', attempts, error, answering: false };
}

/** False where the caller left in the meantime. */
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
