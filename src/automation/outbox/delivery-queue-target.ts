import { z } from 'zod';
import type { BatchTarget } from '../../infra/storage/index.js';
import { plainList } from '../../infra/storage/index.js';
import { type AttemptEnd, type ClaimedDelivery, claimedDelivery, type Next } from './deliveries.store.js';

/** An attempt that has ended, and what follows it. */
export interface EndedAttempt {
  readonly delivery: ClaimedDelivery;
  readonly next: Next;
  readonly end: AttemptEnd;
}

/** One request to record an attempt and advance a session's queue of deliveries. */
export interface QueueRow {
  readonly tenant_id: string;
  readonly session_id: string;
  /** Fixed before the first try: an attempt that was started with it belongs to this caller. */
  readonly claim: string;
  readonly ended: EndedAttempt | undefined;
  /** Whether the caller would make the next attempt. */
  readonly continues: boolean;
}

export interface QueueState {
  /** The age of the delivery whose attempt ended; undefined if another process has taken it over. */
  readonly ageMs: number | undefined;
  /** The first delivery of the queue, if its attempt was started for the caller. */
  readonly first: ClaimedDelivery | undefined;
  /** When the queue may continue, if it may not now; undefined if nothing waits. */
  readonly dueInMs: number | undefined;
}

/**
 * Advances the queues of many sessions of many tenants in one call. The SQL function's comment explains the details.
 */
export function queueTarget({ holdMs }: { readonly holdMs: number }): BatchTarget<QueueRow, QueueState> {
  return {
    name: 'batch_send_on_answers',
    text: `select place, age_ms, due_in_ms, id, trigger_id, execution_id, key, chunk, chunk_total, attempts_made, sealed,
        created_at
      from send_on_answers($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, ${holdMs})`,
    shareOf: ({ tenant_id }) => tenant_id,
    values: (rows) => [
      plainList(rows.map((row) => row.tenant_id)),
      plainList(rows.map((row) => row.session_id)),
      plainList(rows.map((row) => row.claim)),
      plainList(rows.map((row) => row.continues)),
      plainList(rows.map(({ ended }) => ended?.delivery.id ?? 'null')),
      plainList(rows.map(({ ended }) => ended?.delivery.chunk ?? 'null')),
      plainList(rows.map(({ ended }) => ended?.delivery.attempts ?? 'null')),
      plainList(rows.map(({ ended }) => (ended === undefined ? 'null' : stepOf(ended.next)))),
      plainList(rows.map(({ ended }) => (ended === undefined ? 'null' : pauseOf(ended.next)))),
      plainList(rows.map(({ ended }) => ended?.end.statusCode ?? 'null')),
      rows.map(({ ended }) => ended?.end.error ?? null),
    ],
    outcomes: (rows, returned) => {
      const states = rows.map((): { -readonly [Name in keyof QueueState]: QueueState[Name] } => ({
        ageMs: undefined,
        first: undefined,
        dueInMs: undefined,
      }));
      for (const given of returned) {
        const answer = returnedRow.parse(given);
        const row = rows[answer.place - 1];
        const state = states[answer.place - 1];
        if (row === undefined || state === undefined) continue;
        if (answer.age_ms !== null) state.ageMs = answer.age_ms;
        else if (answer.due_in_ms !== null) state.dueInMs = answer.due_in_ms;
        else {
          const { attempts_made: attempts, ...delivery } = answer;
          state.first = claimedDelivery.parse({ ...delivery, attempts, session_id: row.session_id });
        }
      }
      return states;
    },
  };
}

const returnedRow = z.looseObject({
  place: z.number(),
  age_ms: z.number().nullable(),
  due_in_ms: z.number().nullable(),
  attempts_made: z.number().nullable(),
});

function stepOf(next: Next): string {
  return next.step === 'over' ? next.status : next.step;
}

function pauseOf(next: Next): number {
  if (next.step === 'over') return 0;
  return Math.round(next.step === 'chunk' ? next.inMs + (next.heldMs ?? 0) : next.inMs);
}
