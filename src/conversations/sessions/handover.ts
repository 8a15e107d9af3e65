import type { SessionActivation, SessionActorParts } from './parts.js';
import { change, type SessionState } from './session-state.js';

/**
 * The process leaves in order and may cut off the running turn, which another process then starts again. This start does
 * not count against the turn: a rolling restart of three nodes would otherwise end every turn that outlasts three drains.
 */
export function noteHandover(
  state: SessionState,
  activation: Pick<SessionActivation, 'write' | 'mayAct'>,
  { report }: Pick<SessionActorParts, 'report'>,
): void {
  const executions = [...state.allTurns()].flatMap((turn) => {
    const { row, finished, isClaimed } = turn;
    // Without a claim of this activation there is no start to leave out.
    if (finished || row.status !== 'running' || !isClaimed) return [];
    change(turn, { input: { ...row.input, handovers: (row.input.handovers ?? 0) + 1 } });
    return [turn.row];
  });
  if (executions.length === 0) return;
  activation.write({ executions }).catch((error: unknown) => {
    // Without the note the start counts, as it did before.
    if (activation.mayAct()) report('noting that a turn moves to another node', error);
  });
}
