// A process with its statements on messages and deliveries, on PostgreSQL and on the simulated tables; and what they write.
import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { systemRandom, systemTime } from '../../../cluster/index.js';
import type { SeededRandom } from '../../../cluster/simulation/virtual-time.js';
import { type AcceptedRow, acceptTarget } from '../../../src/automation/inbox/accept-target.js';
import { messageClaims } from '../../../src/automation/inbox/inbox.store.js';
import { messageRows } from '../../../src/automation/inbox/message-rows.js';
import {
  type ClaimedDelivery,
  deliveryClaims,
  type NewDelivery,
} from '../../../src/automation/outbox/deliveries.store.js';
import { queueTarget } from '../../../src/automation/outbox/delivery-queue-target.js';
import { deliveryRows } from '../../../src/automation/outbox/delivery-rows.js';
import {
  type FinishedAnswer,
  type FinishedRow,
  finishTarget,
} from '../../../src/automation/outbox/finish-target.js';
import { openBatchWriters, openStore } from '../../../src/infra/storage/index.js';
import type { MessageTables } from '../../simulation/conversations/message-tables.js';
import type { FileDatabase } from '../database/database.js';
import { hourMs } from '../database/message-rows.js';

/** Of deliveries: none becomes due while a slow machine compares both sides. */
export const holdMs = hourMs;

export type MessageProcess = Awaited<ReturnType<typeof openProcess>>;

export async function openProcess(database: FileDatabase, name: string, tables: MessageTables) {
  const { url: databaseUrl } = database;
  const store = await openStore({ databaseUrl, process: name });
  const writers = openBatchWriters({ databaseUrl, process: name, time: systemTime, random: systemRandom });
  database.atEnd(async () => {
    await writers.close();
    await store.close();
  });
  const atOnce = <Value>(step: () => Value): Promise<Value> => Promise.resolve(step());
  return {
    name,
    real: {
      messages: messageRows(store),
      deliveries: deliveryRows(store),
      claims: [messageClaims, deliveryClaims].map((table) => ({
        holders: () => store.directory((tx) => table.holders(tx)),
        release: (gone: readonly string[]) => store.directory((tx) => table.release(tx, gone)),
      })),
      accepts: writers.writer(acceptTarget),
      finishes: writers.writer(finishTarget({ holdMs })),
      queues: writers.writer(queueTarget({ holdMs })),
    },
    twin: {
      messages: tables.messageRows(name, atOnce),
      deliveries: tables.deliveryRows(atOnce),
      claims: [tables.inbox, tables.outbox],
    },
  };
}

/** Of no tenant yet. */
export function drawnMessage(random: SeededRandom, trigger: string, session: string): AcceptedRow {
  return {
    tenant_id: '',
    trigger_id: trigger,
    key: random.id(),
    session_id: session,
    execution_id: randomUUID(),
    state: random.chance(0.1) ? 'done' : 'running',
    asks: random.chance(0.8),
    payload_hash: random.pick(['', 'hash']),
    sealed: Buffer.from(random.id()),
    answer: random.pick([null, JSON.stringify({ status: 202, contentType: 'text/plain', body: 'b' })]),
    hold_ms: random.pick([0, hourMs]),
    keep_ms: hourMs,
  };
}

export function refusedMessage({ execution_id, session_id, trigger_id }: AcceptedRow) {
  return {
    id: execution_id ?? '',
    agentId: randomUUID(),
    sessionId: session_id,
    triggerId: trigger_id,
    channel: 'webhook',
    userId: null,
    consumerKey: undefined,
    message: 'hello',
    status: 'failed' as const,
    error: null,
  };
}

export function drawnFailure(
  random: SeededRandom,
  { session_id, trigger_id, execution_id }: AcceptedRow,
  place: number,
): NewDelivery {
  return {
    id: randomUUID(),
    sessionId: session_id,
    triggerId: trigger_id,
    executionId: execution_id,
    key: random.pick([execution_id ?? '', `${execution_id}/callback`]),
    inboxSeq: place,
    chunkTotal: 1,
    truncated: false,
    sealed: Buffer.from('failure'),
  };
}

export function drawnReply(random: SeededRandom, { session_id, trigger_id }: AcceptedRow) {
  const consumerKey = random.chance(0.3) ? 'somebody else' : undefined;
  return { sessionId: session_id, triggerId: trigger_id, sealed: Buffer.from(random.id()), consumerKey };
}

/** A tenant with a session that people have taken over. */
export async function insertTakenOver(view: pg.Client, tenant: string, session: string): Promise<void> {
  await view.query(`insert into tenants (id, name) values ($1, 'One')`, [tenant]);
  await view.query(
    `insert into agents (tenant_id, id, document) values ($1, $1, '{"name": "agent", "type": "agent"}')`,
    [tenant],
  );
  await view.query(
    `insert into sessions (tenant_id, id, agent_id, slot, channel, control_mode, control_kind, created_at,
        last_interaction)
      values ($1, $2, $1, 0, 'webhook', 'manual_handoff', 'handoff', now(), now())`,
    [tenant, session],
  );
}

/** As its process sends it. */
export function begunDelivery(
  { trigger_id, session_id }: FinishedRow,
  { id, executionId, chunkTotal, sealed }: FinishedAnswer,
  created_at: Date,
): ClaimedDelivery {
  return {
    id,
    trigger_id,
    session_id,
    execution_id: executionId,
    key: executionId,
    chunk: 1,
    chunk_total: chunkTotal,
    attempts: 1,
    sealed,
    created_at,
  };
}
