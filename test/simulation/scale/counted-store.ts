// The member store with what its answers would carry from Redis.
import type { MemberStore, Snapshot } from '../../../cluster/membership/member-store.js';
import { leaseText } from '../../../cluster/membership/redis/record.js';

export interface StoreTraffic {
  reads: number;
  /** Bytes of the answers to renewals and polls, as the scripts of Redis write them. */
  bytes: number;
  /** Votes and removals of leases, views, releases. */
  changes: number;
}

/** Renewal count, two times and the field's name, which `leaseText` leaves out. */
const leaseHeadBytes = 6 + 14 + 2 + 'lease:'.length;
/** What `packing.lua` keeps of a lease, and what it sends beside all of them. */
const packedLeaseBytes = 24;
const packedHeadBytes = 80;

export function countedStore(store: MemberStore, traffic: StoreTraffic): MemberStore {
  let known: Snapshot | undefined;
  const read = <Answer extends Snapshot>(answer: Answer): Answer => {
    traffic.reads += 1;
    traffic.bytes += isKnown(answer, known)
      ? packedHeadBytes + answer.leases.length * packedLeaseBytes
      : bytesOf(answer);
    known = answer;
    return answer;
  };
  const change = <Result>(result: Promise<Result>): Promise<Result> => {
    traffic.changes += 1;
    return result;
  };
  return {
    renew: async (lease, known, replaced) => read(await store.renew(lease, known, replaced)),
    snapshot: async () => read(await store.snapshot()),
    publish: (view, publication) => change(store.publish(view, publication)),
    remove: (request) => change(store.remove(request)),
    release: (departed) => change(store.release(departed)),
    onChange: (listener) => store.onChange(listener),
    reconnect: () => store.reconnect(),
    close: () => store.close(),
  };
}

/** Whether only renewals lie between two answers. One that leaves and one that joins at once change the view as well. */
function isKnown(answer: Snapshot, known: Snapshot | undefined): boolean {
  return (
    answer.generation === known?.generation &&
    answer.view === known.view &&
    answer.leases.length === known.leases.length &&
    answer.departed.length === known.departed.length
  );
}

/** All leases of a simulation have about the size of the first. */
function bytesOf({ leases, departed, view }: Snapshot): number {
  const [lease] = leases;
  const leaseBytes =
    lease === undefined ? 0 : leaseText(lease).length + leaseHeadBytes + lease.member.process.length;
  const [member] = view?.members ?? [];
  const memberBytes = member === undefined ? 0 : JSON.stringify(member).length + 1;
  return (
    leases.length * leaseBytes +
    (view?.members.length ?? 0) * memberBytes +
    departed.length * 'left:'.length * 8
  );
}
