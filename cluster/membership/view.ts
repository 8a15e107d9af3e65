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

export function includes(view: View, process: ProcessId): boolean {
  return view.members.some((member) => member.process === process);
}
