// The inbox in a simulated store, equivalent to its SQL (`test/integration/automation/simulated-messages.test.ts`).
import type { AcceptedRow, Acceptance } from '../../../src/automation/inbox/accept-target.js';
import type { ClaimedRow, InboxRow, OwnMessage } from '../../../src/automation/inbox/inbox.store.js';

export interface StoredMessage {
  readonly accepted: AcceptedRow;
  /** Its position in the order of acceptance. */
  readonly seq: number;
  readonly createdMs: number;
  readonly expiresMs: number;
  state: AcceptedRow['state'];
  answer: string | null;
  attempts: number;
  dueMs: number;
  claimedBy: string | null;
}

type RowKey = Pick<AcceptedRow, 'tenant_id' | 'trigger_id' | 'key'>;

export interface InboxTablesParts {
  readonly nowMs: () => number;
  /** Whether people have taken the session over. */
  readonly isTakenOver: (tenantId: string, sessionId: string) => boolean;
  /** Whether a session has the execution. */
  readonly isKnown: (tenantId: string, executionId: string) => boolean;
  /** A planted bug: no message sees the older ones of its session. */
  readonly seesNoneBefore?: boolean;
  /** A planted bug: messages are claimed although a process holds them. */
  readonly claimsTwice?: boolean;
}

/** Buffers are not simulated. */
export class InboxTables {
  readonly rows = new Map<string, StoredMessage>();
  readonly #parts: InboxTablesParts;
  #seq = 0;

  constructor(parts: InboxTablesParts) {
    this.#parts = parts;
  }

  copy(): () => void {
    const [rows, seq] = [[...this.rows].map(([key, row]) => [key, { ...row }] as const), this.#seq];
    return () => {
      this.rows.clear();
      for (const [key, row] of rows) this.rows.set(key, row);
      this.#seq = seq;
    };
  }

  accept(process: string, batch: readonly AcceptedRow[]): readonly Acceptance[] {
    const nowMs = this.#parts.nowMs();
    // A batch is one statement, and sees what was there before it.
    const before = new Set(this.running().map(({ accepted }) => placeOf(accepted)));
    return batch.map((row): Acceptance => {
      if (row.state === 'buffered') throw new Error('the simulated store has no buffers');
      if (row.asks && this.#parts.isTakenOver(row.tenant_id, row.session_id))
        return { fate: 'taken over', buffered: 0, seq: 0, isBehind: false };
      if (this.rows.has(idOf(row))) return { fate: 'present', buffered: 0, seq: 0, isBehind: false };
      this.#seq += 1;
      this.rows.set(idOf(row), {
        accepted: { ...row },
        seq: this.#seq,
        createdMs: nowMs,
        expiresMs: nowMs + row.keep_ms,
        state: row.state,
        answer: row.answer,
        attempts: 1,
        dueMs: nowMs + row.hold_ms,
        claimedBy: process,
      });
      const isBehind =
        row.state === 'running' && before.has(placeOf(row)) && this.#parts.seesNoneBefore !== true;
      return { fate: 'accepted', buffered: 0, seq: this.#seq, isBehind };
    });
  }

  find(row: RowKey): InboxRow | undefined {
    const found = this.rows.get(idOf(row));
    if (found === undefined) return undefined;
    const { trigger_id, key, session_id, execution_id, payload_hash, sealed } = found.accepted;
    return {
      trigger_id,
      key,
      seq: found.seq,
      session_id,
      execution_id,
      state: found.state,
      payload_hash,
      sealed,
      answer: found.answer === null ? null : (JSON.parse(found.answer) as InboxRow['answer']),
      is_over: found.state === 'done' && found.expiresMs <= this.#parts.nowMs(),
    };
  }

  /** The oldest due row of each tenant first, then the next of each. */
  claimLeftBehind(process: string, holdMs: number, rowsMax: number): readonly ClaimedRow[] {
    const nowMs = this.#parts.nowMs();
    const turns = new Map<string, number>();
    const due = this.running()
      .filter(({ dueMs }) => dueMs <= nowMs || this.#parts.claimsTwice === true)
      .toSorted((one, other) => one.dueMs - other.dueMs)
      .map((row) => {
        const turn = (turns.get(row.accepted.tenant_id) ?? 0) + 1;
        turns.set(row.accepted.tenant_id, turn);
        return { row, turn };
      })
      .toSorted((one, other) => one.turn - other.turn || one.row.dueMs - other.row.dueMs)
      .slice(0, rowsMax);
    return due.map(({ row }) => {
      row.attempts += 1;
      row.claimedBy = process;
      row.dueMs = nowMs + holdMs;
      const { tenant_id, trigger_id, key, session_id, execution_id } = row.accepted;
      return {
        tenant_id,
        trigger_id,
        key,
        seq: row.seq,
        session_id,
        execution_id: execution_id ?? '',
        attempts: row.attempts,
        age_ms: nowMs - row.createdMs,
      };
    });
  }

  renewClaims(process: string, executionIds: readonly string[], holdMs: number): void {
    for (const row of this.running()) {
      if (row.claimedBy === process && executionIds.includes(row.accepted.execution_id ?? ''))
        row.dueMs = this.#parts.nowMs() + holdMs;
    }
  }

  releaseOwnClaims(process: string, kept: readonly string[] = []): void {
    for (const row of this.running()) {
      if (row.claimedBy !== process || kept.includes(row.accepted.execution_id ?? '')) continue;
      row.claimedBy = null;
      row.dueMs = this.#parts.nowMs();
      row.attempts = Math.max(0, row.attempts - 1);
    }
  }

  reschedule(process: string, key: RowKey, pauseMs: number): void {
    const row = this.#heldBy(process, key);
    if (row === undefined) return;
    row.attempts = Math.max(0, row.attempts - 1);
    row.claimedBy = null;
    row.dueMs = this.#parts.nowMs() + pauseMs;
  }

  ownPlace(process: string, key: RowKey, executionId: string): number | null {
    const row = this.#heldBy(process, key);
    return row?.accepted.execution_id === executionId ? row.seq : null;
  }

  ownMessage(process: string, key: RowKey, executionId: string, inAnyOrder: boolean): OwnMessage | undefined {
    const row = this.#heldBy(process, key);
    if (row?.accepted.execution_id !== executionId) return undefined;
    const isBehind = !inAnyOrder && this.#parts.seesNoneBefore !== true && this.#isBehind(row);
    return { is_behind: isBehind, parts: isBehind ? [] : [row.accepted.sealed] };
  }

  #isBehind({
    accepted: { tenant_id: tenant, session_id: session, execution_id: id },
    seq,
  }: StoredMessage): boolean {
    const { isKnown } = this.#parts;
    return (
      !isKnown(tenant, id ?? '') &&
      this.running().some(
        ({ accepted, seq: other }) =>
          accepted.tenant_id === tenant &&
          accepted.session_id === session &&
          other < seq &&
          !isKnown(tenant, accepted.execution_id ?? ''),
      )
    );
  }

  /** False if another process holds it. */
  endIfHeld(process: string, key: RowKey): boolean {
    const row = this.#heldBy(process, key);
    if (row !== undefined) row.state = 'done';
    return row !== undefined;
  }

  markDone(key: RowKey, kept: string | null): void {
    const row = this.rows.get(idOf(key));
    if (row?.state !== 'running') return;
    row.state = 'done';
    row.answer = kept ?? row.answer;
  }

  deleteOld(rowsMax: number): number {
    const nowMs = this.#parts.nowMs();
    const old = [...this.rows]
      .filter(([, { state, expiresMs }]) => state === 'done' && expiresMs <= nowMs)
      .slice(0, rowsMax);
    for (const [id] of old) this.rows.delete(id);
    return old.length;
  }

  holders(): readonly string[] {
    return [...new Set(this.running().flatMap(({ claimedBy }) => (claimedBy === null ? [] : [claimedBy])))];
  }

  /** Ends the claims of these processes. */
  release(gone: readonly string[]): number {
    const rows = this.running().filter(({ claimedBy }) => claimedBy !== null && gone.includes(claimedBy));
    for (const row of rows) {
      row.claimedBy = null;
      row.dueMs = this.#parts.nowMs();
    }
    return rows.length;
  }

  running(): readonly StoredMessage[] {
    return [...this.rows.values()].filter(({ state }) => state === 'running');
  }

  /** Whether an older message of the session still runs. */
  runsBefore(tenantId: string, sessionId: string, seq: number): boolean {
    return this.running().some(
      ({ accepted, seq: other }) =>
        accepted.tenant_id === tenantId && accepted.session_id === sessionId && other < seq,
    );
  }

  #heldBy(process: string, key: RowKey): StoredMessage | undefined {
    const row = this.rows.get(idOf(key));
    return row?.state === 'running' && row.claimedBy === process ? row : undefined;
  }
}

function placeOf({ tenant_id: tenant, session_id: session }: AcceptedRow): string {
  return `${tenant} ${session}`;
}

function idOf({ tenant_id: tenant, trigger_id: trigger, key }: RowKey): string {
  return `${tenant} ${trigger} ${key}`;
}
