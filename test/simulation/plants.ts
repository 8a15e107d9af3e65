import type { Membership } from '../../cluster/membership/membership.js';

/** Bugs that a test plants to show that the checkers find them. */
export type Plant =
  | 'no_fence'
  | 'lease_taken_early'
  /** Renewals count at any master of Redis. */
  | 'outdated_store_counts'
  /** The member store executes steps that are late, and its leases do not say so. */
  | 'late_steps_count'
  | 'ack_before_commit'
  /** A turn whose commit has an unknown result runs again in the same activation. */
  | 'turn_repeated'
  /** The runtime does not observe one bound of a queue. */
  | 'bound_ignored'
  /** The fence compares only the epoch. */
  | 'epoch_alone'
  | 'grant_before_block'
  | 'answers_forgotten'
  /** One node never receives a newer view. */
  | 'deaf_node'
  | 'edge_takes_slots'
  | 'stream_ends_early'
  | 'stream_repeats'
  | 'attempts_uncounted'
  | 'scans_once'
  | 'timer_unchecked';

/** Bugs of one process's membership. */
export function plantInMembership(membership: Membership, plants: ReadonlySet<Plant>, place: number): void {
  if (plants.has('deaf_node') && place === 0) {
    const onView = membership.onView.bind(membership);
    membership.onView = (listener) =>
      onView((view) => {
        if (view.number <= 1) listener(view);
      });
  }
  if (plants.has('lease_taken_early')) {
    const hasLeft = (process: string): boolean =>
      !membership.view().members.some((member) => member.process === process);
    membership.surelyGone = hasLeft;
    membership.whenSurelyGone = () => Promise.resolve();
  }
}
