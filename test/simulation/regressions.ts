import type { Fault } from './faults.js';

/** Schedules that once failed, with the cause. */
export const regressions: readonly {
  readonly seed: number;
  readonly faults?: readonly Fault[];
  readonly cause: string;
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
    cause: 'calls that waited for an owner were retried in an endless loop while the link to it was down',
  },
  {
    seed: 3_123,
    faults: [
      { atMs: 7_044, kind: 'kill', node: 2 },
      { atMs: 8_446, kind: 'vanish', node: 0 },
    ],
    cause:
      'a new process did not learn which processes were surely gone, and control calls forwarded to one were lost',
  },
  {
    seed: 188,
    faults: [
      { atMs: 110, kind: 'store_away', node: 0, forMs: 613 },
      { atMs: 2_718, kind: 'kill', node: 1 },
      { atMs: 5_683, kind: 'vanish', node: 0 },
    ],
    cause:
      'no process seized a number to end the wait for a turn whose two possible confirmers had died one after the other',
  },
  {
    seed: 359,
    faults: [
      { atMs: 4_967, kind: 'members_away', node: 0, forMs: 1_689 },
      { atMs: 5_363, kind: 'unknown_commits', forMs: 3_438 },
      { atMs: 6_712, kind: 'members_away', node: 'all', forMs: 1_661 },
      { atMs: 8_972, kind: 'vanish', node: 1 },
    ],
    cause:
      'a process that had promised while the store was unreachable delayed the seizure of a number after the store was back',
  },
  {
    seed: 890,
    faults: [
      { atMs: 825, kind: 'drain', node: 1 },
      { atMs: 6_616, kind: 'kill', node: 0 },
      { atMs: 7_354, kind: 'lease_removed', node: 1 },
      { atMs: 7_396, kind: 'lease_removed', node: 0 },
    ],
    cause: 'the turn of a process with a departure record was waited for like that of a silent process',
  },
  {
    seed: 1_805,
    faults: [
      { atMs: 4_936, kind: 'kill', node: 1 },
      { atMs: 5_099, kind: 'members_flushed' },
      { atMs: 7_899, kind: 'wall_clock', node: 0, offsetMs: 7_325 },
      { atMs: 8_516, kind: 'drain', node: 2 },
    ],
    cause: 'the turn of a departed process was waited for after the store had lost all leases',
  },
  {
    seed: 3_443,
    faults: [
      { atMs: 1_264, kind: 'members_failover', lagMs: 2_075 },
      { atMs: 3_373, kind: 'drain', node: 3 },
      { atMs: 8_552, kind: 'kill', node: 1 },
      { atMs: 8_600, kind: 'kill', node: 2 },
      { atMs: 8_756, kind: 'kill', node: 0 },
    ],
    cause:
      'the members that should have told a new process which others were surely gone had joined after those had died',
  },
  {
    seed: 505,
    faults: [
      { atMs: 1_664, kind: 'kill', node: 2 },
      { atMs: 2_019, kind: 'suspend', node: 0, forMs: 8_260 },
    ],
    cause: 'a process that had joined since the last poll counted as silent since the generation began',
  },
  {
    seed: 831,
    faults: [
      { atMs: 7_183, kind: 'members_split', nodes: [0, 1], forMs: 12_816 },
      { atMs: 8_122, kind: 'freeze', node: 2, forMs: 8_054 },
      { atMs: 8_192, kind: 'freeze', node: 0, forMs: 8_054 },
      { atMs: 8_495, kind: 'kill', node: 1 },
    ],
    cause: 'a generation that nobody could use any more was replaced too late',
  },
  {
    seed: 591,
    faults: [
      { atMs: 307, kind: 'vanish', node: 0 },
      { atMs: 8_135, kind: 'kill', node: 2 },
    ],
    cause:
      'the load repeated a call from a process that had died, which created an actor in the dead process',
  },
];
