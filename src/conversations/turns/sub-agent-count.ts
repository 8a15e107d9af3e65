/**
 * Of one turn, at all levels together. Each level may make 64 calls a round, so without a bound five levels of them would be
 * a billion turns for one message.
 */
export const subAgentsMax = 100;

/** Counts the turns of sub-agents that one turn begins, those of its sub-agents included. */
export class SubAgentCount {
  #begun = 0;

  /** False above the bound. */
  begin(): boolean {
    if (this.#begun >= subAgentsMax) return false;
    this.#begun += 1;
    return true;
  }
}
