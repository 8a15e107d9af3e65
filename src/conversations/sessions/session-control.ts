/**
 * Changes the control mode. A change is confirmed only when it is durable and no output of the old mode can reach a
 * reader any more.
 */
import { PlatformError } from '../../kernel/errors.js';
import type { RealtimeEventRow } from '../realtime/index.js';
import type { SessionActivation, SessionActorParts } from './parts.js';
import type { RequestedControl } from './requests.js';
import type { ControlKind, SessionRow } from './rows.js';
import type { SessionState } from './session-state.js';
import { ended } from './turn-end.js';
import type { TurnWorker } from './turn-worker.js';

export async function changeControl(
  state: SessionState,
  activation: SessionActivation,
  { time, armExpiry, newId }: SessionActorParts,
  worker: Pick<TurnWorker, 'isQueued' | 'endQueued'>,
  request: RequestedControl,
): Promise<SessionRow> {
  const { session } = state;
  if (session === undefined) throw new PlatformError('not_found', { message: 'The session was not found.' });
  // The expiry of a time limit must not undo a later decision.
  if (request.ifEpoch !== undefined && request.ifEpoch !== session.control_epoch) return session;
  const kind = request.change === 'engaged' ? null : request.change;
  const changed = controlled(session, kind, request, time.wallMs());
  state.session = changed;
  const begun = kind === null ? undefined : (state.running ?? state.waiting);
  begun?.mute();
  const endWaiting = async (): Promise<void> => {
    if (begun !== undefined && worker.isQueued(begun)) await worker.endQueued(begun, ended('SUSPENDED'), []);
  };
  const realtimeEvents = realtimeEventsOf(session, changed, newId());
  const written = activation.write({ session: changed, realtimeEvents });
  // In the same commit: otherwise the waiting turn could be approved without effect, and the messages behind it would stay
  // hidden from whoever took over.
  await Promise.all([written, endWaiting()]);
  begun?.abort.abort('suspended');
  // It may have begun to wait in the meantime.
  await endWaiting();
  if (request.expiresInSeconds !== undefined) {
    const { group, key } = activation.address;
    const dueInMs = request.expiresInSeconds * 1_000;
    armExpiry({ tenantId: group, sessionId: key, slot: activation.slot, dueInMs });
  }
  if (kind !== null) {
    // Turns that have already ended in memory may still wait for their ledger writes: their last events must not
    // follow the confirmation.
    for (const { ending } of state.turns()) await ending;
    await state.readers.dropEverywhere();
  }
  return changed;
}

function controlled(
  session: SessionRow,
  kind: ControlKind | null,
  { by, reason, expiresInSeconds }: RequestedControl,
  nowMs: number,
): SessionRow {
  const expires =
    kind === null || expiresInSeconds === undefined
      ? null
      : new Date(nowMs + expiresInSeconds * 1_000).toISOString();
  return {
    ...session,
    control_mode: kind === null ? 'engaged' : 'manual_handoff',
    control_kind: kind,
    control_reason: reason ?? null,
    control_by: by,
    control_since: new Date(nowMs).toISOString(),
    control_expires_at: expires,
    control_epoch: session.control_epoch + 1,
  };
}

/** Empty if the control mode is the same as before: a longer time or another reason is not reported. */
function realtimeEventsOf(before: SessionRow, after: SessionRow, id: string): readonly RealtimeEventRow[] {
  if (before.control_mode === after.control_mode && before.control_kind === after.control_kind) return [];
  return [
    {
      tenant_id: after.tenant_id,
      id,
      type: 'session_control_changed',
      data: {
        session_id: after.id,
        control_mode: after.control_mode,
        kind: after.control_kind,
        previous: before.control_mode,
        by: after.control_by,
        reason: after.control_reason,
      },
    },
  ];
}
