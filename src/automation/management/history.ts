import { z } from 'zod';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import { redactDeep, redactText } from '../../infra/diagnostics/index.js';
import { PlatformError } from '../../kernel/errors.js';
import type { FoundPage, Store, TenantTransaction } from '../../infra/storage/index.js';
import { parseTriggerConfig } from '../triggers/config/trigger-config.js';
import { triggerTypes, type TriggerType } from '../triggers/types/registry.js';
import { cutText } from '../triggers/mapped-context.js';
import { attemptsOf } from '../outbox/deliveries.store.js';
import { work as workShape, type MessageSealer } from '../messages/message-payload.js';
import { subAgentStep, subAgentSteps } from './sub-agent-steps.js';
import { present } from './triggers.js';
import { findTrigger, type TriggerRow } from '../triggers/triggers.store.js';
import { countTriggered, listSteps, type TriggeredPage } from '../../conversations/sessions/index.js';
import { bufferedMessagesOf, listPromised, type PromisedRow } from '../inbox/promised.store.js';
import { listWindows } from '../inbox/windows.store.js';
import { countByType } from '../triggers/triggers.store.js';
import { mergedPage } from './history-pages.js';
import { type ExecutionRow, findExecution, listExecutions } from './history-rows.js';
import { named } from '../../http/operations/index.js';

const previewCharsMax = 200;
/** A tool of MCP answers with at most 1 MB, and no character takes more than three bytes. */
const messageCharsMax = 100_000;
const moment = z.iso.datetime();

export const executionAnswer = named(
  'TriggerExecution',
  z.object({
    id: z.uuid(),
    trigger_id: z.uuid(),
    agent_id: z.uuid(),
    session_id: z.uuid().nullable(),
    status: z.enum([
      'queued',
      'running',
      'waiting',
      'completed',
      'failed',
      'timeout',
      'cancelled',
      'blocked',
    ]),
    outcome: z.enum(['COMPLETED', 'TIMEOUT', 'CANCELLED', 'FAILED', 'BLOCKED', 'SUSPENDED']).nullable(),
    error: z.object({ code: z.string(), message: z.string() }).optional(),
    input_preview: z.string(),
    output_preview: z.string(),
    usage: z.record(z.string(), z.unknown()).nullable(),
    latency_ms: z.number().nullable(),
    delivery_status: z.enum(['none', 'pending', 'delivered', 'delivery_failed']),
    truncated: z.boolean().describe('Whether text beyond the last chunk was dropped.'),
    created_at: moment,
    started_at: moment.nullable(),
    finished_at: moment.nullable(),
  }),
);

export const enrichedAnswer = named(
  'TriggerExecutionDetail',
  executionAnswer.extend({
    model: z.string().nullable(),
    provider: z.string().nullable(),
    cost: z.number(),
    steps: z.array(
      z.object({
        number: z.int(),
        kind: z.string(),
        name: z.string(),
        state: z.string(),
        started_at: moment,
        finished_at: moment.nullable(),
        agent_id: z.uuid().optional().describe('The sub-agent that the step asked.'),
        steps: z.array(subAgentStep).optional().describe('What the sub-agent did, of the same form.'),
      }),
    ),
    payload: z
      .object({
        message: z
          .string()
          .describe(
            `The message that was made of it, with secrets redacted; at most ${messageCharsMax} characters.`,
          ),
      })
      .describe('What is kept of the payload; the document that the sender sent is not stored.'),
    context: z
      .record(z.string(), z.unknown())
      .describe('The values mapped from the payload, with secrets redacted.'),
    deliveries: z.array(
      z.object({
        chunk: z.int(),
        attempt: z.int(),
        status_code: z.int().nullable(),
        at: moment,
        error: z.string().optional(),
      }),
    ),
    buffered_messages: z.array(z.object({ message: z.string(), at: moment })),
  }),
);

export const statsAnswer = named(
  'TriggerStats',
  z.object({
    total: z.int(),
    enabled: z.int(),
    by_type: z.object({ webhook: z.int(), email: z.int(), db_event: z.int(), schedule: z.int() }),
    executions: z.object({ total: z.int(), completed: z.int(), failed: z.int(), timeout: z.int() }),
    last_24h: z.int(),
    avg_latency_ms: z.number(),
  }),
);

export const ownStatsAnswer = named(
  'TriggerOwnStats',
  z.object({
    executions: z.object({ total: z.int(), completed: z.int(), failed: z.int() }),
    avg_latency_ms: z.number(),
  }),
);

export const bufferAnswer = z.object({
  session_id: z.uuid(),
  messages: z.int().min(1),
  due_at: moment.describe('When they run as one execution, unless another message arrives before.'),
});

/** The history of triggers' messages. */
export class History {
  readonly #store: Store;
  readonly #seal: MessageSealer;

  constructor(store: Store, seal: MessageSealer) {
    this.#store = store;
    this.#seal = seal;
  }

  list(scope: TenantScope, triggerId: string, page: TriggeredPage): Promise<FoundPage<ExecutionRow>> {
    return this.#store.inTenant(scope, async (tx) => {
      const trigger = present(await findTrigger(scope, tx, triggerId));
      const mayWait = page.status === undefined || page.status === 'queued';
      // Read before the others, so that a message that a session takes meanwhile is among them.
      const promised = mayWait ? await listPromised(scope, tx, triggerId, page) : undefined;
      const begun = await listExecutions(tx, triggerId, page);
      const taken = new Set(begun.rows.map(({ id }) => id));
      const waiting = promised?.rows.filter(({ id }) => !taken.has(id)) ?? [];
      if (promised === undefined || (waiting.length === 0 && !promised.hasMore)) return begun;
      return mergedPage(
        [
          begun,
          {
            rows: waiting.map((row) => this.#queued(scope, trigger, row)),
            hasMore: promised.hasMore,
            end: promised.rows.at(-1),
          },
        ],
        page.limit,
      );
    });
  }

  enriched(scope: TenantScope, triggerId: string, id: string): Promise<z.input<typeof enrichedAnswer>> {
    return this.#store.inTenant(scope, async (tx) => {
      const trigger = present(await findTrigger(scope, tx, triggerId));
      const row =
        (await findExecution(tx, triggerId, id)) ??
        (await this.#promised(scope, tx, trigger, id)) ??
        // A session took the message between the two reads.
        (await findExecution(tx, triggerId, id));
      if (row === null) throw new PlatformError('not_found', { message: 'The execution was not found.' });
      const steps = await listSteps(scope, tx, id);
      const attempts = await attemptsOf(scope, tx, id);
      const buffered = await bufferedMessagesOf(scope, tx, id);
      return {
        ...executionAnswerOf(row),
        model: row.model,
        provider: row.provider,
        cost: row.cost,
        steps: steps.map(({ number, kind, name, state, detail, started_at, finished_at }) => ({
          number,
          kind,
          name,
          state,
          started_at: started_at.toISOString(),
          finished_at: finished_at?.toISOString() ?? null,
          ...subAgentSteps(detail),
        })),
        payload: { message: shown(row.input.message, messageCharsMax) },
        context: redactDeep(row.input.declared_context ?? {}) as Record<string, unknown>,
        deliveries: attempts.map(({ chunk, attempt, status_code, error, started_at }) => ({
          chunk,
          attempt,
          status_code,
          at: started_at.toISOString(),
          ...(error === null ? {} : { error }),
        })),
        buffered_messages: buffered.map(({ sealed, created_at }) => ({
          message: redactText(this.#seal.open(scope, sealed, workShape).message),
          at: created_at.toISOString(),
        })),
      };
    });
  }

  async #promised(
    scope: TenantScope,
    tx: TenantTransaction,
    trigger: TriggerRow,
    id: string,
  ): Promise<ExecutionRow | null> {
    const {
      rows: [row],
    } = await listPromised(scope, tx, trigger.id, { id, limit: 1 });
    return row === undefined ? null : this.#queued(scope, trigger, row);
  }

  /** Accepted messages that no session has taken yet. */
  #queued(scope: TenantScope, trigger: TriggerRow, row: PromisedRow): ExecutionRow {
    const { message, context } = this.#seal.openParts(
      scope,
      row.parts,
      parseTriggerConfig(trigger.trigger_type, trigger.config),
    );
    return {
      id: row.id,
      trigger_id: trigger.id,
      agent_id: trigger.agent_id,
      session_id: row.session_id,
      status: 'queued',
      outcome: null,
      error: null,
      input: { message, declared_context: context },
      output: null,
      usage: null,
      cost: 0,
      model: null,
      provider: null,
      latency_ms: null,
      delivery_status: 'none',
      truncated: false,
      created_at: row.created_at,
      started_at: null,
      finished_at: null,
    };
  }

  buffers(
    scope: TenantScope,
    triggerId: string,
    rowsMax: number,
  ): Promise<readonly z.input<typeof bufferAnswer>[]> {
    return this.#store.inTenant(scope, async (tx) => {
      present(await findTrigger(scope, tx, triggerId));
      const windows = await listWindows(scope, tx, triggerId, rowsMax);
      return windows.map(({ due_at, ...window }) => ({ ...window, due_at: due_at.toISOString() }));
    });
  }

  statsOf(scope: TenantScope, triggerId: string): Promise<z.input<typeof ownStatsAnswer>> {
    return this.#store.inTenant(scope, async (tx) => {
      present(await findTrigger(scope, tx, triggerId));
      const { total, completed, failed, avg_latency_ms } = await countTriggered(tx, triggerId);
      return {
        executions: { total, completed, failed },
        avg_latency_ms: Math.round(avg_latency_ms ?? 0),
      };
    });
  }

  stats(scope: TenantScope): Promise<z.input<typeof statsAnswer>> {
    return this.#store.inTenant(scope, async (tx) => {
      const types = await countByType(scope, tx);
      const { total, completed, failed, timeout, last_24h, avg_latency_ms } = await countTriggered(tx);
      const countOf = (type: TriggerType): number =>
        types.find(({ trigger_type }) => trigger_type === type)?.total ?? 0;
      return {
        total: types.reduce((sum, one) => sum + one.total, 0),
        enabled: types.reduce((sum, one) => sum + one.enabled, 0),
        by_type: Object.fromEntries(triggerTypes.map((type) => [type, countOf(type)])) as Record<
          TriggerType,
          number
        >,
        executions: { total, completed, failed, timeout },
        last_24h,
        avg_latency_ms: Math.round(avg_latency_ms ?? 0),
      };
    });
  }
}

export function executionAnswerOf(row: ExecutionRow): z.input<typeof executionAnswer> {
  return {
    id: row.id,
    trigger_id: row.trigger_id,
    agent_id: row.agent_id,
    session_id: row.session_id,
    status: row.status as z.input<typeof executionAnswer>['status'],
    outcome: row.outcome as z.input<typeof executionAnswer>['outcome'],
    ...(row.error === null ? {} : { error: row.error }),
    input_preview: shown(row.input.message, previewCharsMax),
    output_preview: shown(row.output ?? '', previewCharsMax),
    usage: row.usage,
    latency_ms: row.latency_ms,
    delivery_status: row.delivery_status,
    truncated: row.truncated,
    created_at: row.created_at.toISOString(),
    started_at: row.started_at?.toISOString() ?? null,
    finished_at: row.finished_at?.toISOString() ?? null,
  };
}

function shown(text: string, charsMax: number): string {
  return cutText(redactText(text), charsMax);
}
