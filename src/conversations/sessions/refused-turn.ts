/**
 * The end of a turn of which the store refuses a write for good, such as a text that an index cannot hold. The turn would
 * be refused again each time it is taken up, so it ends as failed at once.
 */
import type { ClusterError } from '../../../cluster/index.js';
import { voided } from './approvals.js';
import type { LiveTurn } from './live-turn.js';
import type { PlainActivation, SessionActorParts } from './parts.js';
import type { ExecutionRow, SessionRow } from './rows.js';
import { endedRow, failed, lastEvents, logRow } from './turn-end.js';

/** What the store has of a turn before the write that it may refuse. */
export interface StoredTurn {
  readonly row: ExecutionRow;
  readonly approvals: LiveTurn['approvals'];
  /** The session with the turn counted, if the turn had begun. */
  readonly session: SessionRow | undefined;
  /** Whether the turn may hold the actor's busy stamp. */
  readonly holdsStamp: boolean;
}

/**
 * Writes the end of the turn with nothing that the refused write held: neither a message nor an answer, no step and no text
 * of the log, so that this write cannot be refused for the same reason.
 */
export async function endRefused(
  turn: LiveTurn,
  stored: StoredTurn,
  { activation, parts, error }: Refusal,
): Promise<void> {
  turn.abort.abort('lost');
  const isAccepted = await turn.accepted.then(
    () => true,
    () => false,
  );
  // Otherwise the store has no row of the turn, and who sent the message is told.
  if (!isAccepted) return;
  parts.report('storing a turn, which ends as failed', error);
  const nowMs = parts.time.wallMs();
  const finishedAt = new Date(nowMs).toISOString();
  const end = failed('not_storable', messageOf(error));
  turn.approvals = stored.approvals;
  const tail = turn.log.prepare(lastEvents(stored.row, end, turn.muted));
  const input = { ...stored.row.input, last_event: tail.at(-1)?.id };
  const row = { ...stored.row, ...endedRow(end, '', finishedAt), input };
  const written = await activation.write(
    {
      ...(stored.session !== undefined && { session: stored.session }),
      executions: [row],
      approvals: voided(turn, finishedAt),
      logs: [logRow(row, [...turn.log.events.slice(0, 1), ...tail], nowMs)],
    },
    stored.holdsStamp ? { stamp: { set: 'free' } } : {},
  );
  if (written.outcome === 'committed' && written.result.finishedBefore.has(row.id)) return;
  turn.row = row;
  parts.onTurnEnded(row);
  turn.log.publish(tail);
  turn.log.close();
}

interface Refusal {
  readonly activation: PlainActivation;
  readonly parts: SessionActorParts;
  readonly error: ClusterError;
}

function messageOf({ cause }: ClusterError): string {
  const code: unknown = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  const reason = typeof code === 'string' ? ` (code ${code} of PostgreSQL)` : '';
  return `The store refuses the message or the answer of this turn${reason}. Send the message in another form or in parts: the same one would be refused again.`;
}
