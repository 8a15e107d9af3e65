// The outbox in a simulated store, equivalent to its SQL (`test/integration/automation/simulated-messages.test.ts`).
import type { NewDelivery, ClaimedDelivery } from '../../../src/automation/outbox/deliveries.store.js';
import type {
  EndedAttempt,
  QueueRow,
  QueueState,
} from '../../../src/automation/outbox/delivery-queue-target.js';
import type { Finish, FinishedAnswer, FinishedRow } from '../../../src/automation/outbox/finish-target.js';
import type { NewReplyRoute } from '../../../src/automation/outbox/reply-routes.store.js';
import { attemptsMax } from '../../../src/automation/outbox/retry.js';
import type { InboxTables } from './inbox-tables.js';

export interface StoredDelivery {
  readonly tenantId: string;
  readonly put: NewDelivery;
  /** The order within a session, among deliveries of one message. */
  readonly seq: number;
  readonly createdMs: number;
  status: 'pending' | 'delivered' | 'delivery_failed';
  chunk: number;
  attempts: number;
  dueMs: number;
  claimedBy: string | null;
  lastStatus: number | null;
  lastError: string | null;
}

export interface StoredAttempt {
  readonly delivery: StoredDelivery;
  readonly chunk: number;
  readonly attempt: number;
  readonly claim: string;
  readonly startedMs: number;
  finished: boolean;
  statusCode: number | null;
  error: string | null;
}

export interface DeliveryTablesParts {
  readonly nowMs: () => number;
  readonly inbox: Pick<InboxTables, 'markDone' | 'runsBefore'>;
  /** A planted bug: the answers of a session are sent in any order. */
  readonly isUnordered?: boolean;
  /** Whether the execution has a row that shows the status of its delivery. */
  readonly hasExecution: (tenantId: string, executionId: string) => boolean;
}

/** Mails, erased executions and messages written by hand are not simulated. */
export class DeliveryTables {
  /** By tenant and id. */
  readonly rows = new Map<string, StoredDelivery>();
  attempts: StoredAttempt[] = [];
  /** The status shown with an execution, by tenant and execution. */
  readonly shown = new Map<string, StoredDelivery['status']>();
  /** The reply routes, by tenant and session. */
  readonly replies = new Map<string, string>();
  readonly #parts: DeliveryTablesParts;
  #seq = 0;

  constructor(parts: DeliveryTablesParts) {
    this.#parts = parts;
  }

  copy(): () => void {
    const copies = new Map([...this.rows.values()].map((row) => [row, { ...row }]));
    const rows = [...this.rows].map(([id, row]) => [id, copies.get(row) ?? row] as const);
    const attempts = this.attempts.map((one) => ({
      ...one,
      delivery: copies.get(one.delivery) ?? one.delivery,
    }));
    const [shown, replies] = [[...this.shown], [...this.replies]];
    return () => {
      for (const [map, entries] of [
        [this.rows, rows],
        [this.shown, shown],
        [this.replies, replies],
      ] as const) {
        map.clear();
        for (const [key, value] of entries) (map as Map<string, unknown>).set(key, value);
      }
      this.attempts = attempts;
    };
  }

  /** `finish_trigger_messages` */
  finish(process: string, batch: readonly FinishedRow[], holdMs: number): readonly Finish[] {
    const { inbox } = this.#parts;
    for (const { tenant_id, trigger_id, key, kept, mail } of batch) {
      if (mail !== undefined) throw new Error('the simulated store has no mails');
      if (key !== undefined)
        inbox.markDone({ tenant_id, trigger_id, key }, kept === undefined ? null : JSON.stringify(kept));
    }
    // All rows see the deliveries that were there before.
    const meetsOthers = batch.map(({ tenant_id: tenant, session_id: session, answer }) =>
      this.#pendingOf(tenant, session).some(
        ({ put }) => answer === undefined || put.inboxSeq <= answer.place,
      ),
    );
    for (const { tenant_id: tenant, session_id: session, trigger_id: trigger, reply } of batch) {
      if (reply !== undefined && reply.byteLength > 0)
        this.remember(tenant, { sessionId: session, triggerId: trigger, sealed: reply });
    }
    const given = batch.flatMap((row, at) => {
      if (row.answer === undefined) return [];
      const { tenant_id: tenant, session_id: session, answer } = row;
      const isFirst = batch.every(
        (other) =>
          other.tenant_id !== tenant ||
          other.session_id !== session ||
          other.answer === undefined ||
          other.answer.place >= answer.place,
      );
      const begins =
        answer.mayBegin &&
        meetsOthers[at] !== true &&
        isFirst &&
        !inbox.runsBefore(tenant, session, answer.place);
      return [{ row, answer, begins }];
    });
    const inOrder = given.toSorted(
      (one, other) =>
        compared(one.row.tenant_id, other.row.tenant_id) ||
        compared(one.answer.executionId, other.answer.executionId) ||
        Number(other.begins) - Number(one.begins),
    );
    for (const { row, answer, begins } of inOrder) {
      const put = this.insert(process, row.tenant_id, newDelivery(row, answer), begins ? holdMs : 0);
      if (put === undefined) continue;
      if (begins) this.#begin(put, answer.id);
      this.#show(put);
    }
    return batch.map(({ tenant_id: tenant, answer }, at): Finish => {
      if (answer === undefined) return { begunAt: undefined, waits: meetsOthers[at] === true };
      const begun = this.attempts.find(
        ({ delivery, chunk, attempt, claim, finished }) =>
          delivery.tenantId === tenant &&
          delivery.put.id === answer.id &&
          delivery.status === 'pending' &&
          delivery.chunk === 1 &&
          delivery.attempts === 1 &&
          chunk === 1 &&
          attempt === 1 &&
          claim === answer.id &&
          !finished,
      );
      const begunAt = begun && new Date(begun.delivery.createdMs);
      return { begunAt, waits: begunAt === undefined };
    });
  }

  remember(tenantId: string, { sessionId, triggerId, sealed }: NewReplyRoute): void {
    this.replies.set(`${tenantId} ${sessionId}`, `${triggerId} ${sealed.toString('base64')}`);
  }

  /** Undefined if the delivery is there already. */
  insert(process: string, tenantId: string, put: NewDelivery, holdMs = 0): StoredDelivery | undefined {
    const isThere = [...this.rows.values()].some(
      (row) =>
        row.tenantId === tenantId &&
        (row.put.id === put.id ||
          (put.executionId !== null && row.put.executionId === put.executionId && row.put.key === put.key)),
    );
    if (isThere) return undefined;
    const nowMs = this.#parts.nowMs();
    this.#seq += 1;
    const row: StoredDelivery = {
      tenantId,
      put: { ...put },
      seq: this.#seq,
      createdMs: nowMs,
      status: 'pending',
      chunk: 1,
      attempts: 0,
      dueMs: nowMs + holdMs,
      claimedBy: process,
      lastStatus: null,
      lastError: null,
    };
    this.rows.set(`${tenantId} ${put.id}`, row);
    return row;
  }

  insertFailed(process: string, tenantId: string, put: NewDelivery, reason: string): void {
    const row = this.insert(process, tenantId, put);
    if (row === undefined) return;
    row.status = 'delivery_failed';
    row.lastError = reason;
    this.#show(row);
  }

  /** `send_on_answers` */
  sendOn(process: string, batch: readonly QueueRow[], holdMs: number): readonly QueueState[] {
    const ages = batch.map(({ tenant_id: tenant, ended }) =>
      ended === undefined ? undefined : this.#end(tenant, ended),
    );
    // All rows see the same state, after the ends.
    const firsts = batch.map(({ tenant_id: tenant, session_id: session, continues }) => {
      const first = continues ? this.#pendingOf(tenant, session)[0] : undefined;
      return first && { row: first, dueMs: first.dueMs };
    });
    return batch.map(({ claim, session_id: session }, at): QueueState => {
      const nowMs = this.#parts.nowMs();
      const [first, ageMs] = [firsts[at], ages[at]];
      if (first === undefined) return { ageMs, first: undefined, dueInMs: undefined };
      const { row, dueMs } = first;
      const dueInMs = dueMs - nowMs;
      const mayBegin =
        row.status === 'pending' &&
        row.dueMs <= nowMs &&
        !this.#parts.inbox.runsBefore(row.tenantId, session, row.put.inboxSeq);
      if (!mayBegin) {
        const mine = this.attempts.some(
          (one) =>
            one.delivery === row &&
            one.claim === claim &&
            !one.finished &&
            one.chunk === row.chunk &&
            one.attempt === row.attempts,
        );
        return { ageMs, first: mine && dueInMs > 0 ? claimedOf(row) : undefined, dueInMs };
      }
      row.claimedBy = process;
      if (row.attempts >= attemptsMax) {
        row.status = 'delivery_failed';
        row.lastStatus = null;
        row.lastError = 'The last attempt to send it never came to an end.';
        this.#show(row);
        return { ageMs, first: undefined, dueInMs };
      }
      row.attempts += 1;
      row.dueMs = nowMs + holdMs;
      this.#begin(row, claim);
      return { ageMs, first: claimedOf(row), dueInMs };
    });
  }

  /** The longest waiting session of each tenant first, then the next. */
  dueSessions(lateMs: number, rowsMax: number): readonly { tenant_id: string; session_id: string }[] {
    const beforeMs = this.#parts.nowMs() - lateMs;
    const due = this.pending()
      .filter(({ dueMs }) => dueMs <= beforeMs)
      .toSorted((one, other) => one.dueMs - other.dueMs);
    const turns = new Map<string, number>();
    const lines = new Map<string, { row: StoredDelivery; turn: number }>();
    for (const row of due) {
      const line = `${row.tenantId} ${row.put.sessionId}`;
      if (lines.has(line)) continue;
      const turn = (turns.get(row.tenantId) ?? 0) + 1;
      turns.set(row.tenantId, turn);
      lines.set(line, { row, turn });
    }
    return [...lines.values()]
      .toSorted((one, other) => one.turn - other.turn || one.row.dueMs - other.row.dueMs)
      .slice(0, rowsMax)
      .map(({ row }) => ({ tenant_id: row.tenantId, session_id: row.put.sessionId }));
  }

  isUnderWay(tenantId: string, sessionId: string, attemptMs: number): boolean {
    return this.attempts.some(
      ({ delivery, chunk, attempt, finished, startedMs }) =>
        delivery.tenantId === tenantId &&
        delivery.put.sessionId === sessionId &&
        delivery.status === 'pending' &&
        delivery.put.executionId !== null &&
        chunk === delivery.chunk &&
        attempt === delivery.attempts &&
        !finished &&
        startedMs > this.#parts.nowMs() - attemptMs,
    );
  }

  holders(): readonly string[] {
    return [...new Set(this.pending().flatMap(({ claimedBy }) => (claimedBy === null ? [] : [claimedBy])))];
  }

  release(gone: readonly string[]): number {
    const rows = this.pending().filter(({ claimedBy }) => claimedBy !== null && gone.includes(claimedBy));
    for (const row of rows) {
      row.claimedBy = null;
      row.dueMs = Math.min(row.dueMs, this.#parts.nowMs());
    }
    return rows.length;
  }

  pending(): readonly StoredDelivery[] {
    return [...this.rows.values()].filter(({ status }) => status === 'pending');
  }

  #pendingOf(tenantId: string, sessionId: string): readonly StoredDelivery[] {
    return this.pending()
      .filter((row) => row.tenantId === tenantId && row.put.sessionId === sessionId)
      .toSorted((one, other) => one.put.inboxSeq - other.put.inboxSeq || one.seq - other.seq)
      .toSorted((one, other) => (this.#parts.isUnordered === true ? other.seq - one.seq : 0));
  }

  #begin(delivery: StoredDelivery, claim: string): void {
    // The delivery's first attempt may begin with its insertion.
    if (delivery.attempts === 0) delivery.attempts = 1;
    this.attempts.push({
      delivery,
      chunk: delivery.chunk,
      attempt: delivery.attempts,
      claim,
      startedMs: this.#parts.nowMs(),
      finished: false,
      statusCode: null,
      error: null,
    });
  }

  /** The age of the delivery, unless another process has taken it up. */
  #end(tenantId: string, { delivery: { id, chunk, attempts }, next, end }: EndedAttempt): number | undefined {
    const row = this.rows.get(`${tenantId} ${id}`);
    const attempt = this.attempts.findLast(
      (one) => one.delivery === row && one.chunk === chunk && one.attempt === attempts,
    );
    if (attempt !== undefined)
      Object.assign(attempt, { finished: true, statusCode: end.statusCode, error: end.error });
    if (row?.status !== 'pending' || row.chunk !== chunk || row.attempts !== attempts) return undefined;
    const nowMs = this.#parts.nowMs();
    if (next.step === 'over') row.status = next.status;
    else row.dueMs = nowMs + Math.round(next.inMs + (next.step === 'chunk' ? (next.heldMs ?? 0) : 0));
    if (next.step === 'chunk') {
      row.chunk += 1;
      row.attempts = 0;
    } else row.claimedBy = null;
    row.lastStatus = end.statusCode;
    row.lastError = end.error;
    if (next.step === 'over') this.#show(row);
    return nowMs - row.createdMs;
  }

  #show({ tenantId, put: { executionId }, status }: StoredDelivery): void {
    if (executionId !== null && this.#parts.hasExecution(tenantId, executionId))
      this.shown.set(`${tenantId} ${executionId}`, status);
  }
}

function claimedOf({ put, chunk, attempts, createdMs }: StoredDelivery): ClaimedDelivery {
  return {
    id: put.id,
    trigger_id: put.triggerId,
    session_id: put.sessionId,
    execution_id: put.executionId,
    key: put.key,
    chunk,
    chunk_total: put.chunkTotal,
    attempts,
    sealed: put.sealed,
    created_at: new Date(createdMs),
  };
}

function newDelivery(row: FinishedRow, answer: FinishedAnswer): NewDelivery {
  return {
    id: answer.id,
    sessionId: row.session_id,
    triggerId: row.trigger_id,
    executionId: answer.executionId,
    key: answer.executionId,
    inboxSeq: answer.place,
    chunkTotal: answer.chunkTotal,
    truncated: answer.truncated,
    sealed: answer.sealed,
  };
}

function compared(one: string, other: string): number {
  return one < other ? -1 : Number(one > other);
}
