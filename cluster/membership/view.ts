import { createHash } from 'node:crypto';
import { viewNumber, type ProcessId, type ViewNumber } from '../ids/ids.js';
import type { Member, View, ViewName } from './membership.js';

/** Workers only, sorted by process id, hashed over the ids alone (protocol 2.1, 2.6). */
export function makeView(number: ViewNumber, members: readonly Member[]): View {
  const workers = members
    .filter((member) => member.roles.includes('worker'))
    .sort((a, b) => (a.process < b.process ? -1 : a.process > b.process ? 1 : 0));
  const hash = createHash('sha256')
    .update(workers.map((member) => member.process).join('\n'))
    .digest('hex')
    .slice(0, 32);
  return { number, hash, members: workers };
}

export const emptyView: View = makeView(viewNumber(0), []);

export function sameView(one: ViewName, other: ViewName): boolean {
  return one.number === other.number && one.hash === other.hash;
}

const names = new WeakMap<View, ReadonlySet<ProcessId>>();

/** Each poll asks it for each process, so it must not look through the members. */
export function includes(view: View, process: ProcessId): boolean {
  let known = names.get(view);
  if (known === undefined) {
    known = new Set(view.members.map((member) => member.process));
    names.set(view, known);
  }
  return known.has(process);
}
