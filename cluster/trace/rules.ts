import type { ProcessId } from '../ids/ids.js';
import type { Traced } from './events.js';
import type { Facts } from './facts.js';
import { activationKey, between, type ProcessState, type Situation, type TraceConfig } from './state.js';
import { viewKey } from './merge.js';
import { refuseGone } from './gone-rule.js';

type Of<Name extends Traced['event']> = Extract<Traced, { readonly event: Name }>;

/** A rule says why an event is not allowed, or nothing. */
type Rule<Name extends Traced['event']> = (traced: Of<Name>, situation: Situation) => string | undefined;

/**
 * For each event the transition of `docs/protocol/ownership.pml` that it is a step of, and under what conditions.
 * Events without conditions of their own are causes of others.
 */
export const rules: {
  readonly [Name in Traced['event']]?: { readonly transition: string; readonly refuse: Rule<Name> };
} = {
  renew: {
    transition: 'Renew',
    refuse: ({ from }, { self, config }) => overOr(self, ranOut(self, from, config)),
  },
  promise: {
    transition: 'Confirm',
    refuse: ({ to, view, at }, { self, config }) =>
      overOr(
        self,
        lapsed(self, at, config) ??
          (self.awayMs(at) < config.memberStoreAwayMs ? 'it reaches Redis itself' : undefined) ??
          (view === self.view ? undefined : `it holds the view ${self.view}, not ${view}`) ??
          // One that left the view goes on with a lease until its running turns have ended.
          (self.members.includes(to) || self.departed.has(to) ? undefined : `${to} was in no view of it`),
      ),
  },
  promised: {
    transition: 'Confirm',
    refuse: ({ by, process }, { facts }) => {
      const gives = facts.traces
        .get(by)
        ?.some((traced) => traced.event === 'promise' && traced.to === process);
      return gives === false ? `${by} promised it nothing` : undefined;
    },
  },
  confirm: { transition: 'Confirm', refuse: refuseConfirm },
  seize: {
    transition: 'Remove a silent member: seize a number',
    refuse: ({ above, at }, { self, config }) =>
      overOr(
        self,
        above < self.view ? `it holds the view ${self.view} above ${above}` : lapsed(self, at, config),
      ),
  },
  publish: { transition: 'Remove, Join, Leave, Renumber', refuse: refusePublish },
  adopt: { transition: 'Renew: a new view', refuse: refuseAdopt },
  gone: { transition: 'learn', refuse: refuseGone },
  acquire: { transition: 'Activate', refuse: refuseAcquire },
  write: { transition: 'Commit', refuse: refuseWrite },
  effect: { transition: 'An outside effect', refuse: refuseEffect },
  hand_over: {
    transition: 'End of the turn',
    refuse: ({ actor, epoch }, { self }) =>
      self.epochs.get(actor) === epoch ? undefined : `it holds no activation of epoch ${epoch}`,
  },
};

function overOr(self: ProcessState, reason: string | undefined): string | undefined {
  return self.isOut ? 'it has given up its lease' : reason;
}

/** Its right to act has run out by its own clocks. */
function lapsed(self: ProcessState, at: Traced['at'], config: TraceConfig): string | undefined {
  if (self.from === undefined || !self.isMember) return undefined;
  const ageMs = between(self.from, at);
  return ageMs < config.leaseActMs
    ? undefined
    : `its right to act ran out ${Math.round(ageMs - config.leaseActMs)} ms before`;
}

/** The same at the start of what would extend it: an expired right does not come back. */
function ranOut(self: ProcessState, from: Traced['at'], config: TraceConfig): string | undefined {
  return lapsed(self, from, config);
}

function refuseConfirm(
  { view, from, process, at }: Of<'confirm'>,
  { self, facts, config }: Situation,
): string | undefined {
  if (self.isOut) return 'it has given up its lease';
  const late = lapsed(self, at, config);
  if (late !== undefined) return late;
  if (self.awayMs(from) < config.memberStoreAwayMs) return 'it reaches Redis itself';
  if (view !== self.view) return `it holds the view ${self.view}, not ${view}`;
  const confirmed = facts
    .confirmedOf(process)
    .find((one) => one.view === view && isAt(one.place, facts, process, at));
  const givers = new Set(confirmed?.promises.map(({ by }) => by).filter((by) => self.members.includes(by)));
  const agree = givers.size + (self.isMember ? 1 : 0);
  if (confirmed?.seized === undefined)
    return agree === self.members.length
      ? undefined
      : `${agree} of ${self.members.length} promised, and PostgreSQL did not answer`;
  if (confirmed.seized > view) return `the number ${confirmed.seized} was seized`;
  return agree * 2 > self.members.length ? undefined : `only ${agree} of ${self.members.length} promised`;
}

function isAt(
  place: number,
  facts: Situation['facts'],
  process: Traced['process'],
  at: Traced['at'],
): boolean {
  return facts.traces.get(process)?.[place]?.at.monotonicMs === at.monotonicMs;
}

function refusePublish(traced: Of<'publish'>, { self, facts, config }: Situation): string | undefined {
  if (self.isOut) return 'it has given up its lease';
  const known = facts.membersOf.get(traced.view);
  if (known !== undefined && viewKey({ view: traced.view, members: known }) !== viewKey(traced))
    return `the number ${traced.view} names the members ${known.join(' ')} already`;
  facts.membersOf.set(traced.view, traced.members);
  if (traced.follows === undefined)
    return traced.view === self.view ? undefined : `it restores a view that it does not hold`;
  if (traced.view <= traced.follows) return `it follows the view ${traced.follows}`;
  return lapsed(self, traced.at, config) ?? boundBy(traced, self);
}

/** A promise binds its giver to the member: it neither makes nor adopts a view without it. */
function boundBy({ members, at }: Of<'publish'> | Of<'adopt'>, self: ProcessState): string | undefined {
  for (const [process, untilMs] of self.boundUntilMs) {
    if (at.monotonicMs < untilMs && self.members.includes(process) && !members.includes(process))
      return `its promise to ${process} still binds it`;
  }
  return undefined;
}

function refuseAdopt(traced: Of<'adopt'>, { self, facts }: Situation): string | undefined {
  if (self.isOut) return 'it has given up its lease';
  if (traced.view <= self.view) return `it holds the view ${self.view} already`;
  if (!facts.published.has(viewKey(traced))) return 'nobody published this view';
  if (self.isMember && !traced.members.includes(self.id) && !self.leaving)
    return 'the view excludes it, and it does not stop';
  return boundBy(traced, self);
}

function refuseAcquire(traced: Of<'acquire'>, { self, facts }: Situation): string | undefined {
  const others = facts.acquired.get(traced.actor) ?? [];
  const same = others.find((other) => other !== traced && other.epoch === traced.epoch);
  if (same !== undefined) return `${same.process} took the epoch ${traced.epoch} as well`;
  for (const process of traced.over) {
    if (self.gone.has(process)) continue;
    const trace = facts.traces.get(process);
    const had = trace?.filter(
      (one) => one.event === 'acquire' && one.actor === traced.actor && one.epoch < traced.epoch,
    );
    const last = had?.at(-1);
    if (trace === undefined || last?.event !== 'acquire') continue;
    const hasEnded = trace.some(
      (one) => one.event === 'hand_over' && activationKey(one) === activationKey(last),
    );
    if (!hasEnded)
      return `the turn of ${process} under epoch ${last.epoch} has not ended, and it is not surely gone`;
  }
  return undefined;
}

function refuseWrite(traced: Of<'write'>, { self, facts }: Situation): string | undefined {
  if (self.epochs.get(traced.actor) !== traced.epoch && !self.ended.has(activationKey(traced)))
    return `it holds no activation of epoch ${traced.epoch}`;
  const newer = facts.acquired
    .get(traced.actor)
    ?.find((other) => other.epoch > traced.epoch && other.revision < traced.revision);
  return newer === undefined
    ? undefined
    : `${newer.process} had raised the epoch to ${newer.epoch} over revision ${newer.revision}`;
}

function refuseEffect(traced: Of<'effect'>, { self, facts, config }: Situation): string | undefined {
  if (self.isOut) return 'it has given up its lease';
  const late = lapsed(self, traced.at, config);
  if (late !== undefined) return late;
  if (self.epochs.get(traced.actor) !== traced.epoch)
    return `it holds no activation of epoch ${traced.epoch}`;
  if (self.ended.has(activationKey(traced))) return 'its activation has ended';
  const before = self.departedBefore.get(traced.actor) ?? [];
  const waited = before.find(
    (process) => process !== self.id && !self.gone.has(process) && !hasReleased(process, traced, facts),
  );
  return waited === undefined ? undefined : `${waited} had left the view and is not surely gone`;
}

/** It leaves in order, and each of its earlier activations of the actor that had effects ends. */
function hasReleased(process: ProcessId, { actor, epoch }: Of<'effect'>, { traces }: Facts): boolean {
  const trace = traces.get(process) ?? [];
  if (!trace.some((one) => one.event === 'renewing' && one.leaving)) return false;
  const handedOver = new Set(
    trace.flatMap((one) => (one.event === 'hand_over' && one.actor === actor ? [one.epoch] : [])),
  );
  return trace.every(
    (one) => one.event !== 'effect' || one.actor !== actor || one.epoch >= epoch || handedOver.has(one.epoch),
  );
}
