/** The realtime events as schemas, for the documents and for the tests that read them. */
import { z } from 'zod';
import { named } from '../../http/operations/index.js';
import type { RealtimeEvent } from './events.js';

const turn = { session_id: z.uuid(), execution_id: z.uuid() };
const by = z.string().describe('Who did it: the id of a user or key.');

const data = {
  session_control_changed: z.object({
    session_id: z.uuid(),
    control_mode: z.enum(['engaged', 'manual_handoff']),
    kind: z.string().nullable().describe('`suspend` or `handoff`; null once the agent is engaged again.'),
    previous: z.string().describe('The previous mode.'),
    by: by.nullable(),
    reason: z.string().nullable(),
  }),
  consumer_denylist_changed: z.object({ consumer_key: z.string(), blocked: z.boolean(), by }),
  manual_message_sent: z.object({ session_id: z.uuid(), message_id: z.uuid(), by }),
  turn_cancelled: z.object({ ...turn, by }),
  approval_requested: z.object({
    approval_id: z.uuid(),
    ...turn,
    tool: z.string(),
    expires_at: z.iso.datetime(),
  }),
  approval_decided: z.object({
    approval_id: z.uuid(),
    ...turn,
    tool: z.string(),
    decision: z.enum(['approve', 'deny']),
    by,
  }),
  budget_threshold: z.object({
    scope: z.enum(['key', 'tenant', 'agent']),
    id: z.string(),
    percent: z.number(),
    spent_usd: z.number(),
    limit_usd: z.number(),
  }),
} satisfies Readonly<Record<RealtimeEvent['type'], z.ZodType>>;

const envelope = {
  id: z.string().describe('Send the last one to get what was missed.'),
  tenant_id: z.uuid(),
  at: z.iso.datetime(),
};

function event<Type extends RealtimeEvent['type']>(name: string, type: Type) {
  return named(name, z.object({ ...envelope, type: z.literal(type), data: data[type] }));
}

/** One event. Later releases may send others, which clients ignore. */
export const realtimeEventShape = named(
  'RealtimeEvent',
  z.discriminatedUnion('type', [
    event('SessionControlChanged', 'session_control_changed'),
    event('ConsumerDenylistChanged', 'consumer_denylist_changed'),
    event('ManualMessageSent', 'manual_message_sent'),
    event('TurnCancelled', 'turn_cancelled'),
    event('ApprovalRequested', 'approval_requested'),
    event('ApprovalDecided', 'approval_decided'),
    event('BudgetThreshold', 'budget_threshold'),
  ]),
);
