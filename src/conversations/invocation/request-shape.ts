/** The body of a turn as the documents show it. `readInvocation` reads it, since most of what is wrong in it is ignored. */
import { z } from 'zod';
import { named } from '../../http/operations/index.js';
import { attachmentsShape } from '../../models/parts/index.js';
import { responseFormatShape } from '../../models/response-format/index.js';
import { consumerKeyCharactersMax, displayNameCharactersMax } from './consumer-identity.js';

const scalar = z.union([z.string(), z.number(), z.boolean()]);
const integration = 'Needs an API key of an owner or admin.';

export const turnRequestShape = named(
  'TurnRequest',
  z.object({
    message: z
      .string()
      .max(1024 * 1024)
      .optional()
      .describe('The text of the person. May be left out if there are attachments.'),
    session_id: z.uuid().optional().describe('Continues this conversation. Default: a new one.'),
    consumer_key: z
      .string()
      .max(consumerKeyCharactersMax)
      .optional()
      .describe(`The person, as the integration names them. ${integration}`),
    consumer_display_name: z
      .string()
      .max(displayNameCharactersMax)
      .optional()
      .describe('The name of the person, with `consumer_key`.'),
    context: z
      .record(z.string(), scalar)
      .optional()
      .describe(
        'Values that the model and the tools see; names that start with `_` only tools. At most 50, of 2,000 characters ' +
          `together. ${integration}`,
      ),
    bindings: z
      .record(z.string(), scalar)
      .optional()
      .describe(`Values that only tools see, of at most 16 KB. ${integration}`),
    session_from: z
      .array(z.string())
      .min(1)
      .max(5)
      .optional()
      .describe(`Names of context and bindings that decide the session. ${integration}`),
    metadata: z
      .record(z.string(), scalar)
      .optional()
      .describe('At most 20 values kept with the execution. `trace_id` finds it again.'),
    attachments: attachmentsShape.optional(),
    capabilities: z
      .object({ blocks: z.array(z.string()).max(10).optional() })
      .optional()
      .describe('What the client can show: `quick_replies` in `blocks`.'),
    options: z
      .object({
        timeout_ms: z.number().min(1_000).optional().describe('Shortens the deadline of the turn.'),
        response_format: responseFormatShape.optional(),
      })
      .optional(),
  }),
);

export const turnRequestExample = {
  message: 'Where is order 1042?',
  consumer_key: 'crm:1042',
  context: { plan: 'pro' },
  metadata: { trace_id: 'order-1042' },
};
