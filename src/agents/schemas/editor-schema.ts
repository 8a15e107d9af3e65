import { z } from 'zod';
import { expressionLengthMax, faultOfExpression } from '../../infra/expressions/index.js';
import { parsePath } from './context-path.js';
import { textsOf, unknownPlaceholder } from './placeholders.js';
import { named, givenGuid } from '../../http/operations/index.js';

/** The part of a schema that describes how its tool is called. Each type of schema has its own form. */

const timeoutMs = z.int().min(1_000).max(120_000);
const secretName = z.string().regex(/^[A-Za-z0-9_.-]{1,64}$/, { error: 'must be the name of a secret' });
const headerName = z
  .string()
  .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$/, { error: 'must be the name of a header' });

const byName = { secret_ref: secretName.optional() };
const byId = { vault_secret_id: givenGuid.optional() };

export const auth = named(
  'ToolAuth',
  z.discriminatedUnion('type', [
    z.strictObject({ type: z.literal('none') }),
    credential({ type: z.literal('bearer') }),
    credential({ type: z.literal('basic') }).describe('The secret contains `user:password`.'),
    credential({ type: z.literal('api_key'), header: headerName.default('X-Api-Key') }),
  ]),
);

function credential<Fields extends z.ZodRawShape>(fields: Fields) {
  return z.strictObject({ ...fields, ...byName, ...byId }).superRefine((value: object, context) => {
    const named = ['secret_ref', 'vault_secret_id'].filter((name) => Reflect.get(value, name) !== undefined);
    if (named.length === 1) return;
    context.addIssue({
      code: 'custom',
      path: ['secret_ref'],
      message: 'must have exactly one of secret_ref and vault_secret_id',
    });
  });
}

/** Texts that may contain placeholders. */
function template(lengthMax: number) {
  return z.string().max(lengthMax).superRefine(refuseUnknownPlaceholders);
}

function refuseUnknownPlaceholders(value: unknown, context: z.RefinementCtx): void {
  const unknown = textsOf(value)
    .map(unknownPlaceholder)
    .find((found) => found !== undefined);
  if (unknown === undefined) return;
  context.addIssue({
    code: 'custom',
    message: `${unknown} is unknown; use \${args.…}, \${context.…} or \${secret.…}`,
  });
}

/** Scheme and host are fixed: values that a model or a caller supplies must not choose the destination. */
const fixedOrigin = /^https?:\/\/[^/?#$@\\\s]+(?:[/?#]|$)/i;

const address = template(2_000).superRefine((text, context) => {
  if (fixedOrigin.test(text) && URL.canParse(text)) return;
  context.addIssue({
    code: 'custom',
    message:
      'must be an http or https URL with a literal host, without user, password or placeholder in the origin',
  });
});

const jmespath = z
  .string()
  .min(1)
  .max(expressionLengthMax)
  .superRefine((text, context) => {
    const fault = faultOfExpression(text);
    if (fault !== undefined) context.addIssue({ code: 'custom', message: fault });
  });

const bodyBytesMax = 64 * 1024;
const scalar = z.union([template(4_000), z.number(), z.boolean()]);

export const apiTool = named(
  'ApiTool',
  z.strictObject({
    method: z.enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']).default('GET'),
    url: address,
    headers: z
      .record(headerName, template(4_000))
      .refine((headers) => Object.keys(headers).length <= 50, 'has more than 50 entries')
      .optional(),
    query: z
      .record(z.string().min(1).max(200), scalar)
      .refine((query) => Object.keys(query).length <= 50, 'has more than 50 entries')
      .optional(),
    body: z
      .unknown()
      .superRefine(refuseUnknownPlaceholders)
      .refine(
        (body) => Buffer.byteLength(JSON.stringify(body) ?? '') <= bodyBytesMax,
        `has more than ${bodyBytesMax} bytes`,
      )
      .optional(),
    auth: auth.default({ type: 'none' }),
    timeout_ms: timeoutMs.default(30_000),
    response: z
      .strictObject({
        select: jmespath
          .optional()
          .describe('A JMESPath expression that selects the part of the answer that the model sees.'),
        max_chars: z.int().min(1).max(200_000).optional(),
      })
      .optional(),
    idempotent: z
      .boolean()
      .optional()
      .describe('Whether the call may be repeated when it is unknown whether it arrived.'),
  }),
);

export const mcpServer = named(
  'McpServer',
  z.strictObject({
    url: z
      .string()
      .max(2_000)
      .refine((text) => !text.includes('${'), 'must not contain placeholders')
      .pipe(address),
    transport: z.literal('http').default('http'),
    auth: auth.default({ type: 'none' }),
    call_timeout_ms: timeoutMs.default(30_000),
    allowed_tools: z
      .array(z.string().min(1).max(200))
      .max(500)
      .optional()
      .describe('The tools that the agent may use. Default: all tools.'),
    defaults_from_context: z
      .record(
        z
          .string()
          .refine((text) => parsePath(text) !== undefined, 'is not a path such as body[].requesterId'),
        z.string().min(1).max(128),
      )
      .refine((defaults) => Object.keys(defaults).length <= 50, 'has more than 50 entries')
      .optional()
      .describe('Maps the path of a parameter to the name of the context value that replaces it.'),
  }),
);

export const subAgent = z.strictObject({ agent_id: givenGuid });

export const approval = z
  .enum(['always', 'never'])
  .optional()
  .describe('Whether a person approves each call before it is made. Default: never.');

export type Auth = z.output<typeof auth>;
export type ApiTool = z.output<typeof apiTool>;
export type McpServer = z.output<typeof mcpServer>;
export type SubAgent = z.output<typeof subAgent>;
