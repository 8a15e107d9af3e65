/**
 * Calls of tools that people decide on. The turn that makes them waits, and nothing of it runs meanwhile. Its session's
 * actor alone writes the decisions, under its fence, so the turn goes on exactly once.
 */
import { PlatformError } from '../../kernel/errors.js';
import type { ApprovalEvent } from '../invocation/index.js';
import type { RealtimeEventRow } from '../realtime/index.js';
import type { ApprovalDecision, ApprovalDecisions, TurnParked } from '../turns/index.js';
import type { LiveTurn } from './live-turn.js';
import type { SessionActivation, SessionActorParts } from './parts.js';
import type { RequestedDecision } from './requests.js';
import type { ApprovalRow, SessionWrite } from './rows.js';
import { change, type SessionState } from './session-state.js';
import { lookAgainMs } from './turn-queue.js';

/** After this time without a decision the call is denied. */
const heldMs = 7 * 24 * 3_600_000;
const expiredReason = 'Nobody decided in time.';

type Sealing = Pick<SessionActorParts, 'seal' | 'unseal'>;

/** Lets the turn wait; returns what is to be written. Its session's other turns wait behind it. */
export function parkTurn(
  turn: LiveTurn,
  parked: TurnParked,
  { seal, time, newId }: SessionActorParts,
): SessionWrite {
  const nowMs = time.wallMs();
  const { tenant_id, id: execution_id, session_id, input } = turn.row;
  const expires_at = new Date(nowMs + heldMs).toISOString();
  const rows = parked.approvals.map(({ place, callId, tool, parameters, arguments: given }): ApprovalRow => ({
    tenant_id,
    id: newId(),
    session_id: session_id ?? '',
    execution_id,
    place,
    call_id: callId,
    tool,
    parameters,
    sealed_arguments: seal(JSON.stringify(given), execution_id),
    sealed_edit: null,
    status: 'pending',
    decided_by: null,
    reason: null,
    decided_at: null,
    created_at: new Date(nowMs).toISOString(),
    expires_at,
  }));
  turn.approvals = [...turn.approvals, ...rows];
  turn.deadlineAtMs = undefined;
  change(turn, {
    status: 'waiting',
    sealed_bindings: turn.row.sealed_bindings ?? sealedBindings(turn, seal),
    // The processes that end from here on are counted anew: a wait is no sign of a turn that ends its process.
    attempts: 0,
    due_at: expires_at,
    input: { ...input, handovers: 0, waits: [...(input.waits ?? []), { fromMs: nowMs, toMs: nowMs }] },
  });
  const requested = rows.map(({ id, tool }): RealtimeEventRow => ({
    tenant_id,
    id: newId(),
    type: 'approval_requested',
    data: { approval_id: id, session_id: session_id ?? '', execution_id, tool, expires_at },
  }));
  return { executions: [turn.row], approvals: rows, realtimeEvents: requested };
}

/** A wait may take days, and whoever has the session then runs the turn. */
function sealedBindings({ bindings, row: { id } }: LiveTurn, seal: Sealing['seal']): string | null {
  return bindings === undefined ? null : seal(JSON.stringify(bindings), id);
}

/** What readers of a waiting turn are told. */
export function approvalEvents(turn: LiveTurn, sealing: Sealing): readonly ApprovalEvent[] {
  return turn.approvals
    .filter(({ status }) => status === 'pending')
    .map((row) => ({
      type: 'approval',
      approval_id: row.id,
      tool: row.tool,
      arguments: unsealed(row.sealed_arguments, turn.row.id, sealing),
    }));
}

/** The decisions so far, for the calls of the turn. */
export function decisionsOn({ approvals, row }: LiveTurn, sealing: Sealing): ApprovalDecisions {
  return new Map(
    approvals.flatMap((approval): [string, ApprovalDecision][] => {
      const { place, status, reason, sealed_edit: edit } = approval;
      if (status === 'denied') return [[place, { approved: false, reason }]];
      if (status !== 'approved') return [];
      return [
        [place, { approved: true, arguments: edit === null ? undefined : unsealed(edit, row.id, sealing) }],
      ];
    }),
  );
}

export function voided({ approvals }: LiveTurn, at: string): readonly ApprovalRow[] {
  return approvals
    .filter(({ status }) => status === 'pending')
    .map((row) => ({ ...row, status: 'voided', decided_at: at }));
}

/** Durable when it resolves. A second decision is refused. */
export async function decide(
  state: SessionState,
  activation: SessionActivation,
  parts: SessionActorParts,
  request: RequestedDecision,
): Promise<void> {
  const turn = state.queue.find(({ approvals }) => approvals.some(({ id }) => id === request.approvalId));
  const row = turn?.approvals.find(({ id }) => id === request.approvalId);
  if (turn === undefined || row?.status !== 'pending' || isExpired(row, parts)) {
    throw new PlatformError('conflict', {
      message: 'The approval is decided, expired or void. Only a pending one takes a decision.',
    });
  }
  const { approved, by, reason } = request;
  const edit = request.arguments === undefined ? null : parts.seal(request.arguments, turn.row.id);
  const decision = { status: approved ? 'approved' : 'denied', by, reason: reason ?? null, edit } as const;
  await activation.write(decided(turn, [row], decision, activation, parts));
}

/** Denies what nobody decided in time. False if the turn still waits. */
export async function expire(
  turn: LiveTurn,
  activation: SessionActivation,
  parts: SessionActorParts,
): Promise<boolean> {
  const pending = turn.approvals.filter(({ status }) => status === 'pending');
  if (pending.some((row) => !isExpired(row, parts))) return false;
  const decision = { status: 'denied', by: 'system', reason: expiredReason, edit: null } as const;
  await activation.write(decided(turn, pending, decision, activation, parts));
  return true;
}

interface Decision {
  readonly status: 'approved' | 'denied';
  readonly by: string;
  readonly reason: string | null;
  readonly edit: string | null;
}

/** The last decision lets the turn go on, in the same commit: a process that dies leaves it waiting, or ready to run. */
function decided(
  turn: LiveTurn,
  rows: readonly ApprovalRow[],
  { status, by, reason, edit }: Decision,
  { process }: SessionActivation,
  { time, newId }: SessionActorParts,
): SessionWrite {
  const nowMs = time.wallMs();
  const decided_at = new Date(nowMs).toISOString();
  const changed = rows.map((row) => ({
    ...row,
    status,
    decided_by: by,
    reason,
    sealed_edit: edit,
    decided_at,
  }));
  turn.approvals = turn.approvals.map((row) => changed.find(({ id }) => id === row.id) ?? row);
  const goesOn = turn.approvals.every(({ status: is }) => is !== 'pending');
  if (goesOn) {
    const waits = turn.row.input.waits ?? [];
    const last = waits.at(-1);
    change(turn, {
      status: 'queued',
      worker: process,
      due_at: new Date(nowMs + lookAgainMs).toISOString(),
      input: {
        ...turn.row.input,
        waits: last === undefined ? waits : [...waits.slice(0, -1), { ...last, toMs: nowMs }],
      },
    });
  }
  const realtimeEvents = changed.map(
    ({ tenant_id, id, session_id, execution_id, tool }): RealtimeEventRow => {
      const decision = status === 'approved' ? 'approve' : 'deny';
      const data = { approval_id: id, session_id, execution_id, tool, decision, by } as const;
      return { tenant_id, id: newId(), type: 'approval_decided', data };
    },
  );
  return { approvals: changed, ...(goesOn && { executions: [turn.row] }), realtimeEvents };
}

function isExpired({ expires_at }: ApprovalRow, { time }: Pick<SessionActorParts, 'time'>): boolean {
  return Date.parse(expires_at) <= time.wallMs();
}

function unsealed(
  sealed: string,
  executionId: string,
  { unseal }: Sealing,
): Readonly<Record<string, unknown>> {
  return JSON.parse(unseal(sealed, executionId)) as Readonly<Record<string, unknown>>;
}
