// One history of the ring, made of what each node saw.
import { z } from 'zod';
import type { RingChange } from '../../cluster/index.js';
import { named } from '../http/operations/index.js';

const figure = z.int().min(0);
const reasons = ['left', 'refused', 'silent', 'exited', 'unknown'] as const;

export const ringChange = named(
  'RingChange',
  z.object({
    view: z.object({ number: figure, hash: z.string() }),
    at: z.iso.datetime().describe('When the first node began to route by the view.'),
    members: figure,
    joined: z.array(z.string()),
    left: z.array(z.object({ process: z.string(), because: z.enum(reasons) })).describe(
      // The reasons of cluster/membership/membership.ts, for people.
      'Why: `left` in order, `refused` connections, kept `silent`, its process `exited`, or `unknown`.',
    ),
    moved: figure.describe('Slots with another owner than before.'),
  }),
);

const shownMax = 50;

/** A node that was started meanwhile saw less, and only the node that removed a lease knows why. */
export function mergedChanges(histories: readonly (readonly RingChange[])[]): z.input<typeof ringChange>[] {
  const byView = new Map<string, RingChange>();
  for (const change of histories.flat()) {
    const key = `${change.view.number} ${change.view.hash}`;
    const known = byView.get(key);
    byView.set(key, known === undefined ? change : merged(known, change));
  }
  return [...byView.values()]
    .toSorted((one, other) => other.view.number - one.view.number || other.atMs - one.atMs)
    .slice(0, shownMax)
    .map(({ atMs, view, members, joined, left, moved }) => ({
      view: { number: view.number, hash: view.hash },
      at: new Date(atMs).toISOString(),
      members,
      joined: [...joined],
      left: left.map(({ process, because }) => ({
        process,
        because: reasons.find((one) => one === because) ?? ('unknown' as const),
      })),
      moved,
    }));
}

function merged(one: RingChange, other: RingChange): RingChange {
  // Views that a node skipped are part of its next change: the smaller one is exact.
  const exact = other.joined.length + other.left.length < one.joined.length + one.left.length ? other : one;
  const reasonOf = (process: string) =>
    [one, other]
      .flatMap(({ left }) => left)
      .find((gone) => gone.process === process && gone.because !== 'unknown')?.because ?? 'unknown';
  return {
    ...exact,
    atMs: Math.min(one.atMs, other.atMs),
    left: exact.left.map(({ process }) => ({ process, because: reasonOf(process) })),
  };
}
