import type { HistogramReading } from '../measures/histogram.js';
import type { NodeDescription } from './describe.js';

/**
 * A description as a flat list of named numbers, which a host program can hand to its metrics system. A counter only
 * rises while the process lives; a gauge is a current value.
 */
export type Measure = {
  readonly name: string;
  readonly meaning: string;
  readonly labels: Readonly<Record<string, string>>;
} & (
  | { readonly type: 'counter' | 'gauge'; readonly value: number }
  | { readonly type: 'histogram'; readonly reading: HistogramReading }
);

/** One number, or one per value of a label. */
type Values = number | { readonly label: string; readonly values: Iterable<readonly [string, number]> };

export function measuresOf(node: NodeDescription): readonly Measure[] {
  return [...actorMeasures(node), ...callMeasures(node), ...membershipMeasures(node), ...loopMeasures(node)];
}

function membershipMeasures({ view, members, standing, counts }: NodeDescription): Measure[] {
  const slots = members.map((member) => [member.process, member.slots] as const);
  return [
    ...gauge('view_number', 'number of the view that this node routes by', view.number),
    ...gauge('members', 'worker processes in that view', members.length),
    ...gauge('slots', 'slots of each member of the view', by('process', slots)),
    ...gauge(
      'is_member',
      '1 if this process is a member with a lease, else 0',
      standing === 'member' ? 1 : 0,
    ),
    ...counter(
      'self_fences',
      'times that this process detected the loss of its own lease',
      counts.selfFences,
    ),
    ...counter('missed_views', 'announced views that could not be fetched at once', counts.missedViews),
  ];
}

function actorMeasures({ actors, busy, loading, counts }: NodeDescription): Measure[] {
  return [
    ...gauge('actors', 'actors in memory', by('kind', Object.entries(actors))),
    ...gauge('actors_busy', 'actors with a running handler', busy),
    ...gauge('actors_loading', 'actors that are loading or waiting to load', loading),
    ...counter('activations', 'activations of actors', counts.activations),
    ...counter('activation_failures', 'activations that failed to load', counts.activationFailures),
    ...counter('actors_ended', 'actors that left memory', by('reason', Object.entries(counts.ended))),
    ...counter(
      'fence_rejections',
      'writes refused because a newer activation exists',
      counts.fenceRejections,
    ),
  ];
}

function callMeasures({ waiting, oldestWaitingMs, waitingForOwner, turns, links, counts }: NodeDescription) {
  const queued = links.peers.map((peer) => [peer.process, peer.queuedBytes] as const);
  const shed = { mailboxes: counts.shed, links: counts.shedByLinks };
  const calls = { here: counts.localCalls, peers: counts.remoteCalls };
  const moved = { heard: counts.movedAnswers, said: counts.movedGiven };
  return [
    ...gauge('mailbox_waiting', 'calls waiting in mailboxes', waiting),
    ...gauge('mailbox_oldest_ms', 'age of the oldest waiting call', oldestWaitingMs),
    ...gauge('calls_without_owner', 'calls waiting for an owner', waitingForOwner),
    histogram('turn_wait_ms', 'from the arrival of a turn to its start', turns.waited),
    histogram('turn_run_ms', 'from the start of a turn to the return of its handler', turns.ran),
    histogram(
      'stream_first_message_ms',
      'from the call of a stream to its first message',
      turns.firstMessage,
    ),
    ...gauge('links_open', 'open links to peers', links.open),
    ...gauge('links_served', 'links that peers have opened', links.served),
    ...gauge('link_calls', 'calls to peers in flight', links.inFlight),
    ...gauge('link_queued_bytes', 'bytes waiting to be sent', by('process', queued)),
    ...counter('calls', 'call attempts of this process', by('to', Object.entries(calls))),
    ...counter('retries', 'call attempts after the first', counts.retries),
    ...counter(
      'moved_answers',
      '"moved" answers, received (heard) and given (said)',
      by('side', Object.entries(moved)),
    ),
    ...counter('repeats', 'calls answered from memory by request id', counts.repeats),
    ...counter('shed', 'calls refused as overload', by('by', Object.entries(shed))),
  ];
}

function loopMeasures({ loopLag }: NodeDescription): Measure[] {
  if (loopLag === undefined) return [];
  return [
    ...gauge('loop_lag_p99_ms', 'event loop lag over the last minute or so, 99th percentile', loopLag.p99Ms),
    ...gauge('loop_lag_max_ms', 'event loop lag over the last minute or so, maximum', loopLag.maxMs),
  ];
}

function by(label: string, values: Iterable<readonly [string, number]>): Values {
  return { label, values };
}

function gauge(name: string, meaning: string, values: Values): Measure[] {
  return numbers('gauge', name, meaning, values);
}

function counter(name: string, meaning: string, values: Values): Measure[] {
  return numbers('counter', name, meaning, values);
}

function numbers(type: 'counter' | 'gauge', name: string, meaning: string, values: Values): Measure[] {
  if (typeof values === 'number') return [{ type, name, meaning, labels: {}, value: values }];
  const { label } = values;
  return Array.from(values.values, ([of, value]) => ({
    type,
    name,
    meaning,
    labels: { [label]: of },
    value,
  }));
}

function histogram(name: string, meaning: string, reading: HistogramReading): Measure {
  return { type: 'histogram', name, meaning, labels: {}, reading };
}
