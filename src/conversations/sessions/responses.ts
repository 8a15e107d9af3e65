import { z } from 'zod';
import { authorKinds, outcomes } from '../invocation/index.js';
import { attachmentShape } from '../attachments/index.js';
import { named, encodeCursor } from '../../http/operations/index.js';
import { deliveryStatuses, executionError } from './reads.store.js';
import type { ReadExecution, ReadMessage, ReadSession, ReadStep } from './reads.store.js';
import type { SessionOverview } from './requests.js';
import type { LastMessage } from './session-previews.store.js';

/** The response schemas of sessions and executions. */

const scalars = z.record(z.string(), z.union([z.string(), z.number(), z.boolean()]));
const moment = z.iso.datetime();

export const controlMetadataShape = named(
  'ControlMetadata',
  z
    .object({
      kind: z.enum(['suspend', 'handoff']).nullable(),
      reason: z.string().nullable(),
      by: z.string().nullable(),
      since: moment.nullable(),
      expires_at: moment.nullable(),
    })
    .describe('Who changed the control mode last, why, and until when.'),
);

export const sessionShape = named(
  'Session',
  z.object({
    session_id: z.uuid(),
    agent_id: z.uuid(),
    consumer_key: z.string().nullable(),
    consumer_display_name: z.string().nullable(),
    channel: z.string(),
    control_mode: z.enum(['engaged', 'manual_handoff']),
    control_metadata: controlMetadataShape,
    state: z
      .enum(['active', 'awaiting_approval', 'ended'])
      .describe('`awaiting_approval`: a turn waits for a person to decide on the call of a tool.'),
    total_turns: z.int(),
    created_at: moment,
    last_interaction: moment,
    ended_at: moment.nullable(),
  }),
);

export function sessionAnswer(session: ReadSession): z.output<typeof sessionShape> {
  return {
    session_id: session.id,
    agent_id: session.agent_id,
    consumer_key: session.consumer_key,
    consumer_display_name: session.consumer_display_name,
    channel: session.channel,
    control_mode: session.control_mode,
    control_metadata: {
      kind: session.control_kind,
      reason: session.control_reason,
      by: session.control_by,
      since: session.control_since?.toISOString() ?? null,
      expires_at: session.control_expires_at?.toISOString() ?? null,
    },
    state: stateOf(session),
    total_turns: session.total_turns,
    created_at: session.created_at.toISOString(),
    last_interaction: session.last_interaction.toISOString(),
    ended_at: session.ended_at?.toISOString() ?? null,
  };
}

function stateOf({ awaits_approval: awaits, ended_at }: ReadSession): z.output<typeof sessionShape>['state'] {
  if (awaits) return 'awaiting_approval';
  return ended_at === null ? 'active' : 'ended';
}

export const previewedSessionShape = sessionShape.extend({
  last_message: z
    .object({
      role: z.enum(['user', 'assistant']),
      author_kind: z.enum(authorKinds).nullable(),
      content: z.string().describe('Its first 160 characters.'),
      created_at: moment,
    })
    .nullable()
    .optional()
    .describe('Only with `preview=true`. Null: no message is kept.'),
});

export function previewedAnswer(
  session: ReadSession,
  last: LastMessage | undefined,
): z.output<typeof previewedSessionShape> {
  if (last === undefined) return { ...sessionAnswer(session), last_message: null };
  const { role, author_kind, content, created_at } = last;
  return {
    ...sessionAnswer(session),
    last_message: { role, author_kind, content, created_at: created_at.toISOString() },
  };
}

/** The cursor of this session in the lists of sessions, which are sorted latest first. */
export function cursorOfSession({ last_interaction, id }: ReadSession): string {
  return encodeCursor({ at: last_interaction, id });
}

export const controlShape = named(
  'SessionControl',
  z.object({
    session_id: z.uuid(),
    control_mode: z.enum(['engaged', 'manual_handoff']),
    control_metadata: controlMetadataShape,
  }),
);

export function controlAnswer({ id, control }: SessionOverview): z.output<typeof controlShape> {
  return {
    session_id: id,
    control_mode: control.mode,
    control_metadata: {
      kind: control.kind,
      reason: control.reason,
      by: control.by,
      since: control.since?.toISOString() ?? null,
      expires_at: control.expiresAt?.toISOString() ?? null,
    },
  };
}

const authorShape = named(
  'Author',
  z
    .object({
      kind: z
        .enum(authorKinds)
        .describe(
          '`consumer`: the person that an integration or a channel names. `user`, `key`: a user or an API key of the ' +
            'tenant. `trigger`: a trigger that ran without a person. `agent`: an answer.',
        ),
      id: z
        .string()
        .describe('The `consumer_key` of a consumer, otherwise the id of the user, key, trigger or agent.'),
    })
    .describe('The author. Null for messages from before authors were recorded.'),
);

export const messageShape = named(
  'Message',
  z.object({
    id: z.uuid(),
    role: z.enum(['user', 'assistant']),
    author: authorShape.nullable(),
    content: z.string(),
    attachments: z
      .array(attachmentShape)
      .describe('Images and files; GET /api/v1/attachments/:id has their content.'),
    declared_context: scalars.nullable(),
    metadata: z.record(z.string(), z.unknown()),
    execution_id: z.uuid().nullable(),
    created_at: moment,
  }),
);

export function messageAnswer(message: ReadMessage): z.output<typeof messageShape> {
  const { id, role, author, content, attachments, metadata, execution_id, created_at } = message;
  const declared = message.declared_context;
  const isEmpty = declared === null || Object.keys(declared).length === 0;
  return {
    id,
    role,
    author,
    content,
    attachments,
    declared_context: isEmpty ? null : declared,
    metadata,
    execution_id,
    created_at: created_at.toISOString(),
  };
}

const usageShape = named(
  'TokenUsage',
  z.object({ input_tokens: z.int(), output_tokens: z.int(), total_tokens: z.int() }),
);

export const executionShape = named(
  'Execution',
  z.object({
    id: z.uuid(),
    agent_id: z.uuid(),
    session_id: z.uuid().nullable(),
    trigger_id: z.uuid().nullable(),
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
    outcome: z.enum(outcomes).nullable(),
    metadata: z.record(z.string(), z.unknown()),
    model: z.string().nullable(),
    provider: z.string().nullable(),
    usage: usageShape.nullable(),
    cost: z.number(),
    latency_ms: z.int().nullable(),
    timed_out: z.boolean(),
    timeout_clock: z.enum(['turn', 'first_signal', 'idle', 'call']).nullable(),
    error: executionError.nullable(),
    delivery_status: z.enum(deliveryStatuses),
    started_at: moment.nullable(),
    finished_at: moment.nullable(),
  }),
);

export function executionAnswer(execution: ReadExecution): z.output<typeof executionShape> {
  const { timeout_clock, started_at, finished_at } = execution;
  return {
    id: execution.id,
    agent_id: execution.agent_id,
    session_id: execution.session_id,
    trigger_id: execution.trigger_id,
    status: execution.status,
    outcome: execution.outcome,
    metadata: execution.metadata,
    model: execution.model,
    provider: execution.provider,
    usage: execution.usage,
    cost: execution.cost,
    latency_ms: execution.latency_ms,
    timeout_clock,
    error: execution.error,
    delivery_status: execution.delivery_status,
    timed_out: timeout_clock !== null,
    started_at: started_at?.toISOString() ?? null,
    finished_at: finished_at?.toISOString() ?? null,
  };
}

export const stepShape = named(
  'Step',
  z.object({
    number: z.int(),
    kind: z.enum(['intent', 'model', 'tool']),
    name: z.string(),
    state: z.enum(['started', 'finished', 'failed', 'timeout']),
    detail: z.record(z.string(), z.unknown()).nullable(),
    started_at: moment,
    finished_at: moment.nullable(),
  }),
);

export const executionDetailShape = named(
  'ExecutionDetail',
  executionShape.extend({
    response: z.string().nullable(),
    parsed: z.unknown().optional().describe('The response as a value, if it had to fit a schema.'),
    steps: z.array(stepShape),
  }),
);

export function executionDetail(
  execution: ReadExecution,
  steps: readonly ReadStep[],
): z.output<typeof executionDetailShape> {
  return {
    ...executionAnswer(execution),
    response: execution.output,
    ...(execution.parsed == null ? {} : { parsed: execution.parsed }),
    steps: steps.map((step) => ({
      ...step,
      detail: shownDetail(step.detail),
      started_at: step.started_at.toISOString(),
      finished_at: step.finished_at?.toISOString() ?? null,
    })),
  };
}

/**
 * Without what only a further run of the turn reads. The steps of a sub-agent that waits have its texts, which its answer
 * gives as far as they matter.
 */
function shownDetail(detail: ReadStep['detail']): ReadStep['detail'] {
  if (detail === null) return detail;
  const { parked: _parked, parkedVersion: _version, admitted: _admitted, ...shown } = detail;
  return shown;
}
