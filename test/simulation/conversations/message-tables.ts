import type { HotReads, HotValue } from '../../../src/infra/storage/index.js';
import { StoreError } from '../../../src/infra/storage/index.js';
import type { AcceptedRow } from '../../../src/automation/inbox/accept-target.js';
import type { MessageRows, RefusedMessage } from '../../../src/automation/inbox/message-rows.js';
import type { DeliveryRows } from '../../../src/automation/outbox/delivery-rows.js';
import { holdMs as deliveryHoldMs } from '../../../src/automation/outbox/sender.js';
import type { ClaimedTable } from '../../../src/infra/claims/index.js';
import type { Transit } from '../../../cluster/simulation/member-store.js';
import type { RefusedExecution } from '../../../src/conversations/sessions/index.js';
import { DeliveryTables } from './delivery-tables.js';
import { InboxTables } from './inbox-tables.js';
import { keyOf, type SessionTables } from './session-tables.js';
import type { Statement } from './twin-writers.js';

export interface MessagePlants {
  readonly claimsTwice?: boolean;
  readonly isUnordered?: boolean;
  readonly seesNoneBefore?: boolean;
}

/** The rows of accepted messages and of their answers, beside those of sessions. */
export class MessageTables {
  readonly inbox: InboxTables;
  readonly outbox: DeliveryTables;
  /** Executions that ended before a session had them. */
  readonly refused = new Map<string, RefusedExecution>();
  readonly #sessions: SessionTables;

  /** `plants`: planted bugs. */
  constructor(sessions: SessionTables, nowMs: () => number, plants: MessagePlants = {}) {
    this.#sessions = sessions;
    this.inbox = new InboxTables({
      nowMs,
      isTakenOver: (tenant, id) => this.#isTakenOver(tenant, id),
      isKnown: (tenant, id) => sessions.rows.executions.has(keyOf(tenant, id)),
      claimsTwice: plants.claimsTwice ?? false,
      seesNoneBefore: plants.seesNoneBefore ?? false,
    });
    this.outbox = new DeliveryTables({
      nowMs,
      inbox: this.inbox,
      isUnordered: plants.isUnordered ?? false,
      hasExecution: (tenant, id) =>
        this.refused.has(keyOf(tenant, id)) || sessions.rows.executions.has(keyOf(tenant, id)),
    });
  }

  copy(): () => void {
    const restores = [this.inbox.copy(), this.outbox.copy()];
    return () => {
      for (const restore of restores) restore();
    };
  }

  /** The batches of one process. */
  statements(process: string): readonly (readonly [name: string, Statement])[] {
    return [
      ['batch_trigger_inbox', (rows: readonly never[]) => this.inbox.accept(process, rows)],
      [
        'batch_finish_trigger_messages',
        (rows: readonly never[]) => this.outbox.finish(process, rows, deliveryHoldMs),
      ],
      [
        'batch_send_on_answers',
        (rows: readonly never[]) => this.outbox.sendOn(process, rows, deliveryHoldMs),
      ],
    ];
  }

  messageRows(process: string, transit: Transit): MessageRows {
    const { inbox, outbox } = this;
    const store = failing(transit);
    const withTenant = (tenant: string, row: Pick<AcceptedRow, 'trigger_id' | 'key'>) => ({
      tenant_id: tenant,
      trigger_id: row.trigger_id,
      key: row.key,
    });
    const record = (tenant: string, { execution, failure }: RefusedMessage): void => {
      const key = execution && keyOf(tenant, execution.id);
      if (key !== undefined && !this.#sessions.rows.executions.has(key) && !this.refused.has(key))
        this.refused.set(key, execution as RefusedExecution);
      if (failure !== undefined) outbox.insert(process, tenant, failure);
    };
    return {
      claimLeftBehind: (holdMs, rowsMax) => store(() => inbox.claimLeftBehind(process, holdMs, rowsMax)),
      renewClaims: (ids, holdMs) => store(() => inbox.renewClaims(process, ids, holdMs)),
      releaseOwnClaims: (kept) => store(() => inbox.releaseOwnClaims(process, kept)),
      deleteOld: (rowsMax) => store(() => inbox.deleteOld(rowsMax)),
      ownPlace: ({ tenantId }, row, id) =>
        store(() => inbox.ownPlace(process, withTenant(tenantId, row), id)),
      ownMessage: ({ tenantId }, row, id, inAnyOrder) =>
        store(() => inbox.ownMessage(process, withTenant(tenantId, row), id, inAnyOrder)),
      splitBuffer: () => Promise.reject(new Error('the simulated store has no buffers')),
      reschedule: ({ tenantId }, row, pauseMs) =>
        store(() => inbox.reschedule(process, withTenant(tenantId, row), pauseMs)),
      setAnswerCut: () => Promise.reject(new Error('no simulated caller waits for an answer')),
      end: ({ tenantId }, message) =>
        store(() => {
          record(tenantId, message);
          const { row, kept, reply } = message;
          const session = this.#sessions.rows.sessions.get(keyOf(tenantId, reply?.sessionId ?? ''));
          const isTheirs = reply?.consumerKey === undefined || session?.consumer_key === reply.consumerKey;
          if (reply !== undefined && session !== undefined && isTheirs) outbox.remember(tenantId, reply);
          if (row !== undefined)
            inbox.markDone(withTenant(tenantId, row), kept === undefined ? null : JSON.stringify(kept));
        }),
      giveUp: ({ tenantId }, message) =>
        store(() => {
          const { row } = message;
          if (row !== undefined && !inbox.endIfHeld(process, withTenant(tenantId, row))) return false;
          record(tenantId, message);
          return true;
        }),
      endUnsent: ({ tenantId }, { row, delivery, reason }) =>
        store(() => {
          if (inbox.endIfHeld(process, withTenant(tenantId, row)) && delivery !== undefined)
            outbox.insertFailed(process, tenantId, delivery, reason);
        }),
      putDelivery: ({ tenantId }, delivery) => store(() => void outbox.insert(process, tenantId, delivery)),
    };
  }

  deliveryRows(transit: Transit): DeliveryRows {
    const { outbox } = this;
    const store = failing(transit);
    return {
      dueSessions: (lateMs, rowsMax) => store(() => outbox.dueSessions(lateMs, rowsMax)),
      begin: () => Promise.reject(new Error('nobody writes by hand in a simulation')),
      giveBack: () => Promise.reject(new Error('nobody sends mails in a simulation')),
      isUnderWay: ({ tenantId }, sessionId, attemptMs) =>
        store(() => outbox.isUnderWay(tenantId, sessionId, attemptMs)),
    };
  }

  claims(transit: Transit): { readonly inbox: ClaimedTable; readonly outbox: ClaimedTable } {
    const store = failing(transit);
    const claimed = (tables: InboxTables | DeliveryTables): ClaimedTable => ({
      holders: () => store(() => tables.holders()),
      release: (_, gone) => store(() => tables.release(gone)),
    });
    return { inbox: claimed(this.inbox), outbox: claimed(this.outbox) };
  }

  reads(transit: Transit): HotReads {
    const store = failing(transit);
    const readings: Readonly<Record<string, (values: readonly HotValue[]) => readonly unknown[]>> = {
      trigger_sessions_taken_over: ([tenant, ids]) =>
        (ids as readonly string[])
          .filter((id) => this.#isTakenOver(String(tenant), id))
          .map((id) => ({ id })),
      end_of_execution: ([tenant, id]) => this.#endOf(String(tenant), String(id)),
      trigger_inbox_by_key: ([tenant, trigger, key]) => {
        const row = { tenant_id: String(tenant), trigger_id: String(trigger), key: String(key) };
        return [this.inbox.find(row)].filter((found) => found !== undefined);
      },
    };
    return {
      inTenant: async <Row>(_: unknown, { name }: { readonly name: string }, values: readonly HotValue[]) => {
        const reading = readings[name];
        if (reading === undefined) throw new Error(`the simulated store has no reading ${name}`);
        return store(() => reading(values) as Row[]);
      },
      directory: () => Promise.reject(new Error('the simulated store has no reading across tenants')),
      close: () => Promise.resolve(),
    };
  }

  #endOf(tenantId: string, id: string): readonly unknown[] {
    const row = this.#sessions.rows.executions.get(keyOf(tenantId, id));
    if (row !== undefined) return [row];
    const refused = this.refused.get(keyOf(tenantId, id));
    if (refused === undefined) return [];
    const { status, error } = refused;
    const outcome = status === 'blocked' ? 'BLOCKED' : 'FAILED';
    return [{ status, outcome, output: null, usage: null, latency_ms: 0, error }];
  }

  #isTakenOver(tenantId: string, sessionId: string): boolean {
    const row = this.#sessions.rows.sessions.get(keyOf(tenantId, sessionId));
    return row !== undefined && row.control_mode !== 'engaged';
  }
}

/** A transaction over the connection: when it is lost on the way back, nobody knows whether it was made. */
function failing(transit: Transit): Transit {
  return async (step) => {
    let wasMade = false;
    try {
      return await transit(() => {
        wasMade = true;
        return step();
      });
    } catch (cause) {
      throw new StoreError(wasMade ? 'outcome-unknown' : 'unavailable', 'The connection was lost', { cause });
    }
  };
}
