import type { ProcessId } from '../ids/ids.js';
import { hashText } from '../ring/hash.js';
import type { Member, View } from './membership.js';

interface Place {
  readonly process: ProcessId;
  readonly hash: number;
}

const orders = new WeakMap<View, readonly Place[]>();

/**
 * The members that a process keeps a link to and probes when they are silent: all of a small view, and in a larger one
 * those that follow it in the order of the hashes of their ids. Each member has as many that follow it as that watch it,
 * and hashes spread the processes of one zone, so a zone that dies leaves every one of its processes with watchers.
 * Without the bound the links, pings and probes of a cluster grow with the square of its size.
 */
export function neighboursOf(view: View, self: ProcessId, max: number): readonly ProcessId[] {
  if (view.members.length <= max + 1)
    return view.members.map(({ process }) => process).filter((process) => process !== self);
  const order = orderOf(view);
  const after = firstAfter(order, { process: self, hash: hashText(self) });
  const following = [
    ...order.slice(after, after + max),
    ...order.slice(0, Math.max(0, after + max - order.length)),
  ];
  return following.map(({ process }) => process).filter((process) => process !== self);
}

function orderOf(view: View): readonly Place[] {
  const known = orders.get(view);
  if (known !== undefined) return known;
  const order = view.members
    .map(({ process }: Member) => ({ process, hash: hashText(process) }))
    .sort(inOrder);
  orders.set(view, order);
  return order;
}

/** The index after a process, whether or not it is a member itself. */
function firstAfter(order: readonly Place[], place: Place): number {
  let low = 0;
  let high = order.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const other = order[middle];
    if (other !== undefined && inOrder(other, place) <= 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

function inOrder(one: Place, other: Place): number {
  if (one.hash !== other.hash) return one.hash - other.hash;
  return one.process < other.process ? -1 : one.process > other.process ? 1 : 0;
}
