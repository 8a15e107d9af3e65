import { addUsage, sumOfCosts, type Usage, zeroUsage } from '../../llm/index.js';
import type { RecordedStep } from './turn.js';

interface Used {
  readonly usage?: Usage | undefined;
  readonly cost?: number | undefined;
  readonly admitted?: boolean | undefined;
}

/** The usage of a turn, all its rounds together. */
export class TurnTokens {
  #usage: Usage = zeroUsage;
  #cost = 0;
  #last: { readonly model: string; readonly provider: string } | undefined;
  toolCalls = 0;
  /** True once the platform paid for a call of this turn, so that the tenant's month admitted the turn. */
  admitted = false;

  add({ usage, cost = 0, admitted }: Used): void {
    if (usage !== undefined) {
      this.#usage = addUsage(this.#usage, usage);
      // A record of a version that did not note who paid: as that version did, the turn counts as admitted.
      this.admitted ||= admitted ?? true;
    }
    this.#cost = sumOfCosts([this.#cost, cost]);
  }

  /** Adds what recorded steps used. */
  addSteps(steps: readonly RecordedStep[]): void {
    for (const { kind, detail } of steps) {
      if (kind === 'tool') this.toolCalls += 1;
      if (detail === null) continue;
      this.add(detail);
      if (detail.step === 'model') this.askedLast(detail);
      // A sub-agent that waited has no sum yet.
      if (detail.step === 'tool' && detail.parked !== undefined) this.add(tokensOf(detail.parked));
    }
  }

  /** Records the model of the last answer, or of the last call that ended without one. */
  askedLast({ model, provider }: { readonly model: string; readonly provider: string }): void {
    this.#last = { model, provider };
  }

  get usage(): Usage {
    return this.#usage;
  }

  get cost(): number {
    return this.#cost;
  }

  get model(): string | null {
    return this.#last?.model ?? null;
  }

  get provider(): string | null {
    return this.#last?.provider ?? null;
  }
}

/** What the recorded steps used, for the end of a turn that did not run again after them. */
export function tokensOf(steps: readonly RecordedStep[]): TurnTokens {
  const totals = new TurnTokens();
  totals.addSteps(steps);
  return totals;
}
