import type { ProcessId } from '../ids/ids.js';
import type { GoneProcesses } from '../membership/gone-processes.js';
import type { Observer } from '../membership/observer.js';
import type { MembershipParts } from '../membership/perspective.js';

/** Records each process that is held for surely gone from now on, with what is known of it and of the others. */
export function traceGone(
  { trace, time, config }: MembershipParts,
  gone: GoneProcesses,
  observer: Observer,
  seizures: { readonly forCertainty: number },
): void {
  if (trace === undefined) return;
  gone.onGone = (process, { wasFree }, because) => {
    const seen: Record<ProcessId, number> = {};
    for (const { member, renewals } of observer.leases()) seen[member.process] = renewals;
    const own = observer.lastLease(process);
    if (own !== undefined) seen[process] = own.renewals;
    const { generation } = observer;
    const present = observer.lease(process) !== undefined;
    const seized = seizures.forCertainty;
    const unbound = observer.unbound(time.monotonicMs(), config.leaseMarginMs);
    trace.record({
      event: 'gone',
      peer: process,
      because,
      wasFree,
      generation,
      seized,
      seen,
      unbound,
      present,
    });
  };
}
