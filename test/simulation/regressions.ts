import type { Fault } from './faults.js';

/** Schedules that once failed, with what was wrong. */
export const regressions: readonly {
  readonly seed: number;
  readonly faults?: readonly Fault[];
  readonly why: string;
}[] = [
  {
    seed: 4,
    faults: [
      { atMs: 379, kind: 'freeze', node: 1, forMs: 282 },
      { atMs: 1_641, kind: 'members_flushed' },
      { atMs: 2_772, kind: 'freeze', node: 1, forMs: 5_491 },
      { atMs: 2_824, kind: 'cut_one_way', node: 0, other: 2, forMs: 6_364 },
      { atMs: 7_214, kind: 'vanish', node: 1 },
    ],
    why: 'calls that waited for an owner were woken without end while the link to it was down',
  },
  {
    seed: 3_123,
    faults: [
      { atMs: 7_044, kind: 'kill', node: 2 },
      { atMs: 8_446, kind: 'vanish', node: 0 },
    ],
    why: 'a newcomer did not hear who was surely gone, and control calls passed to such a process were lost',
  },
  {
    seed: 188,
    faults: [
      { atMs: 110, kind: 'store_away', node: 0, forMs: 613 },
      { atMs: 2_718, kind: 'kill', node: 1 },
      { atMs: 5_683, kind: 'vanish', node: 0 },
    ],
    why: 'nobody seized a number for the sake of a turn whose two possible voters had died one after the other',
  },
  {
    seed: 359,
    faults: [
      { atMs: 4_967, kind: 'members_away', node: 0, forMs: 1_689 },
      { atMs: 5_363, kind: 'unknown_commits', forMs: 3_438 },
      { atMs: 6_712, kind: 'members_away', node: 'all', forMs: 1_661 },
      { atMs: 8_972, kind: 'vanish', node: 1 },
    ],
    why: 'a process that had promised something while the store was away held up the seizing of a number after it was back',
  },
  {
    seed: 890,
    faults: [
      { atMs: 825, kind: 'drain', node: 1 },
      { atMs: 6_616, kind: 'kill', node: 0 },
      { atMs: 7_354, kind: 'lease_removed', node: 1 },
      { atMs: 7_396, kind: 'lease_removed', node: 0 },
    ],
    why: 'a turn of a process that had left its word was waited for like that of one that is silent',
  },
  {
    seed: 1_805,
    faults: [
      { atMs: 4_936, kind: 'kill', node: 1 },
      { atMs: 5_099, kind: 'members_flushed' },
      { atMs: 7_899, kind: 'wall_clock', node: 0, offsetMs: 7_325 },
      { atMs: 8_516, kind: 'drain', node: 2 },
    ],
    why: 'the same, where the store had forgotten all leases just before',
  },
  {
    seed: 591,
    faults: [
      { atMs: 307, kind: 'vanish', node: 0 },
      { atMs: 8_135, kind: 'kill', node: 2 },
    ],
    why: 'the load repeated a call from a process that had died meanwhile, which made an actor in the dead one',
  },
];
