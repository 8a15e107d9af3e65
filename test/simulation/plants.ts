/** Bugs that a test plants to see that the checkers find them. */
export type Plant =
  | 'no_fence'
  | 'lease_taken_early'
  | 'ack_before_commit'
  /** The fence compares nothing but the epoch. */
  | 'epoch_alone'
  | 'grant_before_block'
  | 'answers_forgotten'
  /** One place never hears of a newer view. */
  | 'deaf_node'
  | 'edge_takes_slots'
  | 'stream_ends_early'
  | 'stream_repeats'
  | 'attempts_uncounted'
  | 'looks_once'
  | 'timer_unchecked';
