import type { ClusterConfig } from '../config.js';
import type { Time } from '../time/time.js';
import { answerWithin } from '../time/within.js';
import type { ViewNumbers } from './member-store.js';
import type { Member, View } from './membership.js';
import type { PeerProbe } from './peer-probe.js';

export interface ConfirmationParts {
  readonly self: Member;
  readonly probe: PeerProbe;
  readonly numbers: ViewNumbers;
  readonly time: Time;
  readonly config: ClusterConfig;
}

/**
 * Whether this process may go on for one lease without the member store (protocol 2.5): most workers of its view
 * promise not to change it, and no newer number was seized to change it without them. If the durable store is
 * unreachable too, that number is unknown and all workers must promise: then no process is left that could have
 * seized one. Nor does it go on once another generation of the store than its own was named: those that renew there may
 * start from an older view and know nothing of these workers. The caller counts the lease from before this call.
 */
export function confirmedByPeers(
  parts: ConfirmationParts,
  view: View,
  generation: string | undefined,
): Promise<boolean> {
  const { self, numbers, time, config } = parts;
  const workers = view.members.length;
  const peers = view.members.filter((member) => member.process !== self.process);
  return new Promise((resolve) => {
    let promises = workers - peers.length;
    let seized: boolean | 'unknown' = 'unknown';
    let outdated = true;
    let outstanding = peers.length + 1;
    const settle = (): void => {
      outstanding -= 1;
      // A number that was read counts even if all promise: a process that has just joined may have seized it.
      const isMajority = seized === 'unknown' ? promises === workers : !seized && promises * 2 > workers;
      const enough = !outdated && isMajority;
      if (enough || outstanding === 0) resolve(enough);
    };
    const asking = Promise.all([numbers.seized(), numbers.newestGeneration(undefined)]);
    answerWithin(time, config.probeTimeoutMs, 'the seized view number', asking).then(
      ([number, newest]) => {
        seized = number > view.number;
        outdated = newest !== undefined && newest.generation !== generation;
        settle();
      },
      () => {
        // Only the promises of all workers outweigh an unknown number.
        outdated = false;
        settle();
      },
    );
    for (const peer of peers) {
      promiseOf(parts, view, peer).then((promised) => {
        if (promised) promises += 1;
        settle();
      }, settle);
    }
  });
}

async function promiseOf(
  { self, probe, time, config }: ConfirmationParts,
  view: View,
  peer: Member,
): Promise<boolean> {
  const controller = new AbortController();
  const timer = time.after(config.probeTimeoutMs, () => controller.abort());
  try {
    const request = { from: self.process, view, confirm: true, exited: undefined };
    const answer = await probe.ask(peer, request, controller.signal);
    return answer.outcome === 'replied' && answer.reply.confirmed && answer.reply.from === peer.process;
  } finally {
    timer.cancel();
  }
}
