/** The events of a turn's stream as schemas, for the documents and for the tests that read streams. */
import { z } from 'zod';
import { named } from '../../http/operations/index.js';
import { outcomes, phases, type StreamEvent, timeoutClocks } from './events.js';
import type { IgnoredReason } from './ignored-fields.js';

const count = z.int().min(0);
const ids = { session_id: z.uuid(), execution_id: z.uuid() };
/** Events of a watched session say which turn they belong to. */
const watched = { execution_id: z.uuid().optional().describe('The turn, where several are watched.') };

const reasons = [
  'requires_admin_api_key',
  'reserved_key',
  'unknown_field',
  'not_supported',
] as const satisfies readonly IgnoredReason[];

export const ignoredFieldShape = named(
  'IgnoredField',
  z.object({ field: z.string(), reason: z.enum(reasons) }).describe('A field that had no effect, and why.'),
);

const quickReplies = named(
  'QuickReplies',
  z.object({
    type: z.literal('quick_replies'),
    data: z.object({ labels: z.array(z.string().max(60)).max(4) }),
  }),
);

const metadata = z
  .object({
    type: z.literal('metadata'),
    accepted_fields: z.array(z.string()),
    ignored_fields: z.array(ignoredFieldShape),
    ...ids,
  })
  .describe('Always the first event.');

const status = z
  .object({ type: z.literal('status'), state: z.enum(['queued', 'running', 'restarted']), ...watched })
  .describe(
    '`queued`: another turn of the session runs first. `restarted`: the turn goes on on another node; readers drop the ' +
      'text of `delta` so far.',
  );

const phase = z.object({ type: z.literal('phase'), name: z.enum(phases), ...watched });

const tool = z.object({
  type: z.literal('tool'),
  call_id: z.string(),
  name: z.string(),
  state: z.enum(['started', 'finished', 'failed', 'timeout']),
  latency_ms: z.number().min(0).optional(),
  ...watched,
});

const approval = z
  .object({
    type: z.literal('approval'),
    approval_id: z.uuid(),
    tool: z.string(),
    arguments: z.record(z.string(), z.unknown()),
    ...watched,
  })
  .describe("The turn waits for a person's decision on this call.");

const thinking = z.object({ type: z.literal('thinking'), content: z.string(), ...watched });

const delta = z
  .object({ type: z.literal('delta'), content: z.string(), ...watched })
  .describe('A piece of the text while it is generated.');

const response = z
  .object({
    type: z.literal('response'),
    content: z.string(),
    blocks: z.array(quickReplies).optional(),
    parsed: z.unknown().optional().describe('The content as a value, if it had to fit a schema.'),
    ...watched,
  })
  .describe('The whole text, once.');

const metrics = z.object({
  type: z.literal('metrics'),
  usage: z.object({ input_tokens: count, output_tokens: count, total_tokens: count }),
  cost: z.number().min(0),
  model: z.string().nullable().describe('Null if no model was called.'),
  provider: z.string().nullable(),
  latency_ms: z.number().min(0),
  first_token_ms: z.number().min(0).nullable(),
  tool_calls: count,
  ...watched,
});

const error = z
  .object({
    type: z.literal('error'),
    code: z.string().describe('A code of the errors, such as `worker_lost`.'),
    message: z.string(),
    details: z.record(z.string(), z.unknown()).optional(),
    timed_out: z.literal(true).optional().describe('The connection failed; the turn may still succeed.'),
    ...watched,
  })
  .describe('Why the turn failed, or how the connection did.');

const done = z
  .object({
    type: z.literal('done'),
    outcome: z.enum(outcomes),
    ...ids,
    timed_out: z.literal(true).optional(),
    timeout_clock: z.enum(timeoutClocks).optional(),
  })
  .describe('Always the last event.');

const events = {
  metadata: named('MetadataEvent', metadata),
  status: named('StatusEvent', status),
  phase: named('PhaseEvent', phase),
  tool: named('ToolEvent', tool),
  approval: named('ApprovalEvent', approval),
  thinking: named('ThinkingEvent', thinking),
  delta: named('DeltaEvent', delta),
  response: named('ResponseEvent', response),
  metrics: named('MetricsEvent', metrics),
  error: named('ErrorEvent', error),
  done: named('DoneEvent', done),
} satisfies Readonly<Record<StreamEvent['type'], z.ZodType>>;

/** One event of a stream, as its `data` has it. */
export const turnEventShape = named(
  'TurnEvent',
  z.discriminatedUnion('type', [
    events.metadata,
    events.status,
    events.phase,
    events.tool,
    events.approval,
    events.thinking,
    events.delta,
    events.response,
    events.metrics,
    events.error,
    events.done,
  ]),
);

export const turnStreamExample = [
  'id: 1',
  'event: metadata',
  'data: {"type":"metadata","accepted_fields":["message"],"ignored_fields":[],"session_id":"3f2b8c1e-5d4a-4f60-9a7b-1c2d3e4f5a6b","execution_id":"8d0c5a34-1f7e-4b29-8c6d-2e3f4a5b6c7d"}',
  '',
  'id: 2',
  'event: delta',
  'data: {"type":"delta","content":"Your order "}',
  '',
  'id: 3',
  'event: response',
  'data: {"type":"response","content":"Your order 1042 left the warehouse today."}',
  '',
  'id: 4',
  'event: done',
  'data: {"type":"done","outcome":"COMPLETED","session_id":"3f2b8c1e-5d4a-4f60-9a7b-1c2d3e4f5a6b","execution_id":"8d0c5a34-1f7e-4b29-8c6d-2e3f4a5b6c7d"}',
  '',
  '',
].join('\n');
