import { z } from 'zod';
import type { Time } from '../../../cluster/index.js';
import type { DeliveryRow } from '../outbox/deliveries.store.js';
import { deliveryStatuses } from '../outbox/deliveries.store.js';
import { nextRunsOf, takesRequests, triggerTypes } from '../triggers/types/registry.js';
import type { TriggerRow } from '../triggers/triggers.store.js';
import { named } from '../../http/operations/index.js';

const moment = z.iso.datetime();

export const secretName = z
  .string()
  .optional()
  .describe('Over MCP, in place of the secret: its name in the vault.');

export const triggerAnswer = z.object({
  id: z.uuid(),
  agent_id: z.uuid(),
  name: z.string(),
  trigger_type: z.enum(triggerTypes),
  trigger_config: z
    .record(z.string(), z.unknown())
    .describe('The configuration as submitted, without defaults.'),
  enabled: z.boolean(),
  webhook_url: z.string().optional().describe('For webhooks only.'),
  next_runs: z.array(moment).optional().describe('For enabled schedules only.'),
  source: z
    .object({ failures: z.int(), last_error: z.string().nullable() })
    .optional()
    .describe('For a single trigger with a polled source: how many polls in a row have failed, and why.'),
  webhook_secret: z
    .string()
    .optional()
    .describe('Only in the response to the change that adds the first callback. Shown only once.'),
  webhook_secret_ref: secretName,
  created_by: z.uuid().nullable(),
  created_at: moment,
  updated_at: moment,
});

export const createdAnswer = z.object({
  success: z.literal(true),
  data: z.object({
    id: z.uuid(),
    agent_id: z.uuid(),
    name: z.string(),
    trigger_type: z.enum(triggerTypes),
    webhook_secret: z
      .string()
      .optional()
      .describe('For webhooks and triggers with a callback. Shown only once.'),
    webhook_secret_ref: secretName,
    enabled: z.boolean(),
  }),
  webhook_url: z.string().optional().describe('For webhooks only.'),
});

export const deliveryAnswer = named(
  'Delivery',
  z.object({
    id: z.uuid(),
    execution_id: z.uuid().nullable().describe('Null for a message that a person wrote.'),
    trigger_id: z.uuid(),
    session_id: z.uuid(),
    status: z.enum(deliveryStatuses),
    chunk: z.int().describe('The next chunk to send, or the chunk that failed.'),
    chunk_total: z.int(),
    attempts: z.int().describe('Attempts made for that chunk.'),
    truncated: z.boolean(),
    last_status_code: z.int().nullable(),
    last_error: z.string().nullable(),
    created_at: moment,
    finished_at: moment.nullable(),
  }),
);

export function webhookUrlOf(publicUrl: string, id: string): string {
  return `${publicUrl.replace(/\/+$/, '')}/api/triggers/webhook/${id}`;
}

/** What an answer needs of this node. */
export interface AnsweringNode {
  readonly publicUrl: () => string;
  readonly time: Pick<Time, 'wallMs' | 'soon'>;
}

export function triggerAnswerOf(
  row: TriggerRow,
  { publicUrl, time }: AnsweringNode,
): z.input<typeof triggerAnswer> {
  const nextRuns = row.enabled ? nextRunsOf(row.trigger_type, row.config, time.wallMs()) : undefined;
  return {
    id: row.id,
    agent_id: row.agent_id,
    name: row.name,
    trigger_type: row.trigger_type,
    trigger_config: row.config,
    enabled: row.enabled,
    ...(takesRequests(row.trigger_type) ? { webhook_url: webhookUrlOf(publicUrl(), row.id) } : {}),
    ...(nextRuns === undefined ? {} : { next_runs: nextRuns }),
    created_by: row.created_by,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}

/** After so many rows a long list lets other work run. */
const answersAtOnce = 20;

export async function triggerAnswersOf(
  rows: readonly TriggerRow[],
  node: AnsweringNode,
): Promise<z.input<typeof triggerAnswer>[]> {
  const answers: z.input<typeof triggerAnswer>[] = [];
  for (const row of rows) {
    answers.push(triggerAnswerOf(row, node));
    if (answers.length % answersAtOnce === 0) await new Promise<void>((resolve) => node.time.soon(resolve));
  }
  return answers;
}

export function deliveryAnswerOf(row: DeliveryRow): z.input<typeof deliveryAnswer> {
  const { last_status, created_at, finished_at, ...rest } = row;
  return {
    ...rest,
    last_status_code: last_status,
    created_at: created_at.toISOString(),
    finished_at: finished_at?.toISOString() ?? null,
  };
}
