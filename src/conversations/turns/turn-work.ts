import type { WorkSpan } from '../../infra/diagnostics/index.js';
import { type Interruption, TurnLost } from './interruption.js';
import type { TurnsParts } from './parts.js';
import type { SubAgentCount } from './sub-agent-count.js';
import type { TurnOutput } from './turn-output.js';
import type { StepLog } from './step-log.js';
import type { TurnTokens } from './turn-usage.js';
import type { TurnPorts, TurnStart } from './turn.js';

/** A turn in progress, as its steps see it. */
export interface TurnWork {
  readonly parts: TurnsParts;
  readonly start: TurnStart;
  readonly ports: TurnPorts;
  /** The place of a sub-agent's turn in its parent's turn; empty for a turn that is not a sub-agent's. */
  readonly lineage: string;
  /** Shared by a turn and all its sub-agents. */
  readonly subAgents: SubAgentCount;
  readonly interruption: Interruption;
  readonly steps: StepLog;
  readonly output: TurnOutput;
  readonly totals: TurnTokens;
  /** Undefined if nobody reads spans. */
  readonly span: WorkSpan | undefined;
}

/** Called right before each external effect. All started steps are recorded by then. */
export async function mayBegin({ steps, ports, interruption }: TurnWork): Promise<void> {
  await steps.flush();
  await ports.effectsClear?.();
  interruption.check();
  if (!ports.mayAct()) throw new TurnLost();
}
