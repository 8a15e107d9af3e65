import type { MemberStore, ViewNumbers } from '../membership/member-store.js';
import type { PeerProbe } from '../membership/peer-probe.js';
import type { MembershipEvent, MembershipParts } from '../membership/perspective.js';
import type { ProtocolTrace } from './events.js';

/** The same parts, with the trace of what passes through them. */
export function tracedMembership(parts: MembershipParts, trace: ProtocolTrace): MembershipParts {
  return {
    ...parts,
    // A member's address may become known later, so the object itself is kept.
    self: parts.self,
    store: tracedStore(parts.store, trace),
    numbers: tracedNumbers(parts.numbers, trace),
    probe: tracedProbe(parts.probe, parts.config.leaseMs, trace),
    report: (event) => {
      recordEvent(event, trace);
      parts.report?.(event);
    },
    trace,
  };
}

function tracedStore(store: MemberStore, trace: ProtocolTrace): MemberStore {
  return {
    renew: (lease, known, replaced) => {
      const { renewals, promisedMs, holds, leaving } = lease;
      trace.record({ event: 'renewing', renewals, promisedMs, holds, leaving });
      return store.renew(lease, known, replaced);
    },
    snapshot: () => store.snapshot(),
    publish: (view, publication) => {
      const members = view.members.map(({ process }) => process);
      trace.record({ event: 'publish', view: view.number, members, follows: publication.follows?.number });
      return store.publish(view, publication);
    },
    remove: (request) => store.remove(request),
    release: (departed) => {
      trace.record({ event: 'release', promisedMs: departed.promisedMs });
      return store.release(departed);
    },
    onChange: (listener) => store.onChange(listener),
    reconnect: () => store.reconnect(),
    close: () => store.close(),
  };
}

function tracedNumbers(numbers: ViewNumbers, trace: ProtocolTrace): ViewNumbers {
  return {
    next: (atLeast) => numbers.next(atLeast),
    seize: (atLeast) => {
      trace.record({ event: 'seize', above: atLeast });
      return numbers.seize(atLeast);
    },
    seized: async () => {
      const number = await numbers.seized();
      trace.record({ event: 'seized_read', number });
      return number;
    },
    newestGeneration: (used) => numbers.newestGeneration(used),
    nameGeneration: (generation) => numbers.nameGeneration(generation),
  };
}

function tracedProbe(probe: PeerProbe, forMs: number, trace: ProtocolTrace): PeerProbe {
  return {
    ask: async (peer, request, signal) => {
      const answer = await probe.ask(peer, request, signal);
      if (request.confirm && answer.outcome === 'replied' && answer.reply.confirmed)
        trace.record({ event: 'promised', by: peer.process });
      return answer;
    },
    answerWith: (handler) =>
      probe.answerWith(async (request) => {
        const reply = await handler(request);
        if (reply.confirmed)
          trace.record({ event: 'promise', to: request.from, view: request.view.number, forMs });
        return reply;
      }),
  };
}

function recordEvent(event: MembershipEvent, trace: ProtocolTrace): void {
  if (event.event === 'view') {
    const members = event.view.members.map(({ process }) => process);
    trace.record({ event: 'adopt', view: event.view.number, members });
  } else if (event.event === 'fenced') trace.record({ event: 'fence', reason: event.reason });
}
