/** Bugs that are planted, to see that the checks find them. */
export type ConversationPlant =
  /** An outcome is not final: a repeated turn runs again. */
  | 'outcome_reopened'
  /** Tool calls whose outcome is unknown are made again. */
  | 'unknown_repeated'
  /** A closed row of the ledger is closed, and counted, again. */
  | 'closed_twice'
  /** What a vendor bills is recorded in part. */
  | 'bill_cut'
  /** Turns that a process left behind are never found. */
  | 'never_recovered'
  /** Acceptances are answered before they are committed. */
  | 'accepted_early'
  /** Turns do not ask whether they may still act, and do not learn that they may not. */
  | 'no_last_look'
  /** Deliveries are sent without a last look at lease and claim. */
  | 'callback_unlooked'
  /** The claims of processes that are gone stay until their time is over. */
  | 'claims_kept'
  /** Answers are sent in any order. */
  | 'answers_unordered'
  /** A claimed message is claimed again. */
  | 'message_claimed_twice'
  /** Messages do not look for older ones of their session that wait on other nodes. */
  | 'messages_overtake';
