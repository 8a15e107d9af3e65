import { type Interruption, TurnLost } from './interruption.js';
import type { TurnsParts } from './parts.js';
import type { TurnOutput } from './turn-output.js';
import type { StepLog } from './step-log.js';
import type { TurnTokens } from './turn-usage.js';
import type { TurnPorts, TurnStart } from './turn.js';

/** A turn under way, as its steps see it. */
export interface TurnWork {
  readonly parts: TurnsParts;
  readonly start: TurnStart;
  readonly ports: TurnPorts;
  /** Where in the turn above a sub-agent's turn hangs; empty for a turn of its own. */
  readonly lineage: string;
  readonly interruption: Interruption;
  readonly steps: StepLog;
  readonly speech: TurnOutput;
  readonly tally: TurnTokens;
}

/** Right before each effect outside. What was begun is recorded by then. */
export async function mayBegin({ steps, ports, interruption }: TurnWork): Promise<void> {
  await steps.flush();
  interruption.check();
  if (!ports.mayAct()) throw new TurnLost();
}
