/** What left a process for the outside: a request to a vendor's model, or to a tool. */
export interface TurnEffect {
  readonly actor: string;
  readonly epoch: number;
  readonly process: string;
  readonly executionId: string;
  /** The attempt of a model call, or the key of a tool call: the same for the same step of one start of the turn. */
  readonly step: string;
  /** Whether the receiver may get it again when it is unknown whether it arrived. */
  readonly mayRepeat: boolean;
}

/** Checks the effects of turns as they happen. */
export class CheckedTurnEffects {
  readonly #violations: string[];
  readonly #now: () => number;
  /** Whether the execution has an outcome in the store. */
  readonly #hasEnded: (actor: string, executionId: string) => boolean;
  /** Whether a handoff of the session was answered and not taken back since. */
  readonly #isHandedOff: (actor: string) => boolean;
  /** A process whose clocks both stood still may act beside its successor for a while. */
  readonly #isExcused: (process: string) => boolean;
  readonly #made = new Set<string>();
  readonly #once = new Set<string>();
  count = 0;

  constructor(parts: {
    readonly violations: string[];
    readonly now: () => number;
    readonly hasEnded: (actor: string, executionId: string) => boolean;
    readonly isHandedOff: (actor: string) => boolean;
    readonly isExcused: (process: string) => boolean;
  }) {
    this.#violations = parts.violations;
    this.#now = parts.now;
    this.#hasEnded = parts.hasEnded;
    this.#isHandedOff = parts.isHandedOff;
    this.#isExcused = parts.isExcused;
  }

  happened(effect: TurnEffect): void {
    const { actor, epoch, process, executionId, step, mayRepeat } = effect;
    this.count += 1;
    const what = `${this.#now()}: ${step} of turn ${executionId} at ${process}`;
    const place = `${actor} ${epoch} ${step}`;
    if (this.#made.has(place)) this.#violations.push(`${what} was made twice under epoch ${epoch}`);
    this.#made.add(place);
    if (!mayRepeat) {
      if (this.#once.has(step)) this.#violations.push(`${what} was repeated and must not be`);
      this.#once.add(step);
    }
    if (this.#isExcused(process)) return;
    if (this.#hasEnded(actor, executionId))
      this.#violations.push(`${what} was made after the turn had ended`);
    if (this.#isHandedOff(actor)) this.#violations.push(`${what} was made after a handoff was answered`);
  }
}
