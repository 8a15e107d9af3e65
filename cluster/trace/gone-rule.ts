import type { Traced } from './events.js';
import type { Confirmed, Promised } from './facts.js';
import type { Situation } from './state.js';

type Gone = Extract<Traced, { readonly event: 'gone' }>;

/**
 * A process is surely gone when it has left, or when its silence proves it: it did not renew after the renewal that was
 * seen last, and every confirmation that it got after that had ended. A confirmation ends when the view is below a
 * number that was seized a lease before, or when one of its promises is known to have expired.
 */
export function refuseGone(traced: Gone, situation: Situation): string | undefined {
  const { facts } = situation;
  const trace = facts.traces.get(traced.peer);
  if (trace === undefined) return undefined;
  if (traced.because === 'departed')
    return trace.some(({ event }) => event === 'release')
      ? undefined
      : `${traced.peer} never gave up its lease`;
  if (traced.because === 'reported') return undefined;
  const renewals = traced.seen[traced.peer];
  const last = renewals === undefined ? undefined : facts.renewalPlace(traced.peer, renewals);
  // Who never saw its lease relies on the views, which changed without it.
  if (last === undefined) return undefined;
  const lastMs = trace[last]?.at.monotonicMs ?? 0;
  // Before it is a member a process has nothing that another could take over.
  const joined = trace.findIndex((one) => one.event === 'adopt' && one.members.includes(traced.peer));
  const later = trace.some(
    (one, place) =>
      one.event === 'renew' &&
      one.generation === traced.generation &&
      one.from.monotonicMs > lastMs &&
      joined !== -1 &&
      place > joined,
  );
  if (traced.present && later) return `${traced.peer} renewed after the renewal that was seen last`;
  const open = facts
    .confirmedOf(traced.peer)
    .find((one) => one.place > last && !hasEnded(one, traced, situation));
  return open === undefined
    ? undefined
    : `${open.promises.map(({ by }) => by).join(' and ')} confirmed ${traced.peer} in the view ${open.view}, which may not have ended`;
}

function hasEnded(confirmed: Confirmed, traced: Gone, situation: Situation): boolean {
  if (confirmed.view < traced.seized) return true;
  return confirmed.promises.some((promised) => hasExpired(promised, traced, situation));
}

function hasExpired({ by, place }: Promised, traced: Gone, { self, facts, config }: Situation): boolean {
  const nowMs = traced.at.monotonicMs;
  if (by === self.id) return nowMs >= (self.boundUntilMs.get(traced.peer) ?? 0);
  if (traced.unbound.includes(by)) return true;
  // Whose trace is not at hand may have said anything.
  if (place === undefined) return true;
  const seen = traced.seen[by];
  if (seen !== undefined && facts.wasUnbound(by, place, seen)) return true;
  const gone = self.gone.get(by);
  if (gone === undefined) return false;
  return gone.wasFree || nowMs - gone.atMs >= config.leaseActMs + config.leaseMarginMs;
}
