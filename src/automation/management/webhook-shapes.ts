/** What webhooks answer unless `response_adapter` or `ack_response` says otherwise, for the documents. */
import { z } from 'zod';
import { named } from '../../http/operations/index.js';

const answered = named(
  'WebhookAnswer',
  z.looseObject({
    success: z.boolean(),
    trigger_id: z.uuid(),
    agent_id: z.uuid(),
    agent_response: z.string(),
    execution_id: z.uuid(),
    usage: z.object({ total_tokens: z.int() }),
    latency_ms: z.number(),
    error: z.string().optional().describe('The code of the failure, if the turn failed.'),
  }),
);

const accepted = named(
  'WebhookAcknowledgement',
  z.looseObject({
    success: z.literal(true),
    status: z.string().describe('`accepted` in mode `async`; `buffered` while messages are gathered.'),
    execution_id: z.uuid().optional(),
    buffered: z.int().optional(),
  }),
);

const inOtherForms = z.unknown().describe('What `response_adapter` or `ack_response` of the trigger makes.');

export const shownWebhook = {
  body: z.looseObject({ message: z.string().optional() }),
  bodyTypes: ['application/json', 'application/x-www-form-urlencoded', 'text/plain'],
  bodyExample: { message: 'Where is order 1042?', customer: { id: '1042' } },
  output: z.union([answered, accepted, inOtherForms]),
} as const;

export const shownInvocation = {
  bodyExample: { message: 'Where is order 1042?' },
  output: shownWebhook.output,
} as const;
