import type { HistogramReading } from '../measures/histogram.js';
import type { NodeDescription } from './describe.js';

/**
 * A description as a flat list of numbers, named once here, so that a host program can hand them to whatever keeps
 * its metrics. A counter only rises while the process lives; a gauge is what it is now.
 */
export type Measure = {
  readonly name: string;
  readonly meaning: string;
  readonly labels: Readonly<Record<string, string>>;
} & (
  | { readonly type: 'counter' | 'gauge'; readonly value: number }
  | { readonly type: 'histogram'; readonly reading: HistogramReading }
);

/** One number, or one for each value of a label. */
type Values = number | { readonly label: string; readonly values: Iterable<readonly [string, number]> };

export function measuresOf(node: NodeDescription): readonly Measure[] {
  return [...actorMeasures(node), ...callMeasures(node), ...membershipMeasures(node), ...loopMeasures(node)];
}

function membershipMeasures({ view, members, standing, counts }: NodeDescription): Measure[] {
  const slots = members.map((member) => [member.process, member.slots] as const);
  return [
    ...gauge('view_number', 'the view that this node routes by', view.number),
    ...gauge('members', 'worker processes of that view', members.length),
    ...gauge('slots', 'slots of each member of the view', by('process', slots)),
    ...gauge('is_member', '1 while this process is a member with a lease', standing === 'member' ? 1 : 0),
    ...counter('self_fences', 'times that this process found its own lease lost', counts.selfFences),
    ...counter('missed_views', 'views heard of that could not be fetched at once', counts.missedViews),
  ];
}

function actorMeasures({ actors, busy, loading, counts }: NodeDescription): Measure[] {
  return [
    ...gauge('actors', 'actors in memory', by('kind', Object.entries(actors))),
    ...gauge('actors_busy', 'actors that run a handler', busy),
    ...gauge('actors_loading', 'actors being loaded, or waiting for it', loading),
    ...counter('activations', 'actors taken into memory', counts.activations),
    ...counter('activation_failures', 'actors that could not be loaded', counts.activationFailures),
    ...counter('actors_ended', 'actors that left memory', by('reason', Object.entries(counts.ended))),
    ...counter('fence_rejections', 'writes refused since a newer activation exists', counts.fenceRejections),
  ];
}

function callMeasures({ waiting, oldestWaitingMs, waitingForOwner, turns, links, counts }: NodeDescription) {
  const queued = links.peers.map((peer) => [peer.process, peer.queuedBytes] as const);
  const shed = { mailboxes: counts.shed, links: counts.shedByLinks };
  const calls = { here: counts.localCalls, peers: counts.remoteCalls };
  const moved = { heard: counts.movedAnswers, said: counts.movedGiven };
  return [
    ...gauge('mailbox_waiting', 'calls that wait in mailboxes', waiting),
    ...gauge('mailbox_oldest_ms', 'how long the oldest of them has waited', oldestWaitingMs),
    ...gauge('calls_without_owner', 'calls that nobody can take now', waitingForOwner),
    histogram('turn_wait_ms', "from a turn's coming to its begin", turns.waited),
    histogram('turn_run_ms', "from a turn's begin to its handler's return", turns.ran),
    histogram('stream_first_message_ms', "from a stream's call to its first message", turns.firstMessage),
    ...gauge('links_open', 'links to peers that are open', links.open),
    ...gauge('links_served', 'links that peers have opened', links.served),
    ...gauge('link_calls', 'calls that are out', links.inFlight),
    ...gauge('link_queued_bytes', 'waiting to be sent', by('process', queued)),
    ...counter('calls', 'attempts of calls by this process', by('to', Object.entries(calls))),
    ...counter('retries', 'attempts after the first', counts.retries),
    ...counter('moved_answers', '"moved", as heard and as said', by('side', Object.entries(moved))),
    ...counter('repeats', 'calls answered from memory by their request id', counts.repeats),
    ...counter('shed', 'calls refused as overload', by('by', Object.entries(shed))),
  ];
}

function loopMeasures({ loopLag }: NodeDescription): Measure[] {
  if (loopLag === undefined) return [];
  return [
    ...gauge('loop_lag_p99_ms', 'how late the event loop was, last minute or so', loopLag.p99Ms),
    ...gauge('loop_lag_max_ms', 'the worst of it', loopLag.maxMs),
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
