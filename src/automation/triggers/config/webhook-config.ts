import { z } from 'zod';
import { invalidField } from '../../../kernel/errors.js';
import { mappedNamesMax } from '../mapped-context.js';
import { parseJsonPath, parseStoredPath } from '../json-path.js';
import { type Execution, execution, type Receiver, splitConfigOf } from './execution-config.js';
import { dottedPath, expression, refuseUnlessOneSecret, secretFields, withDefault } from './fields.js';

export type { ResponseTransform, SplitConfig } from './execution-config.js';

const templateCharsMax = 20_000;
const identifiersMax = 10_000;

const auth = z.object({
  type: z.enum(['signature', 'api_key', 'none']).default('signature'),
  require_timestamp: z.boolean().default(false),
});

/** A patch that changes `mode` leaves the fields of the previous mode; they are kept and ignored. */
const leftOver = {
  field: z.unknown().optional(),
  expression: z.unknown().optional(),
  template: z.unknown().optional(),
};

const queryExtraction = z.discriminatedUnion('mode', [
  z.strictObject({ ...leftOver, mode: z.literal('field'), field: dottedPath.default('message') }),
  z.strictObject({ ...leftOver, mode: z.literal('jmespath'), expression }),
  z.strictObject({
    ...leftOver,
    mode: z.literal('template'),
    template: z.string().min(1).max(templateCharsMax),
  }),
  z.strictObject({ ...leftOver, mode: z.literal('full_body') }),
]);

export type QueryExtraction = z.output<typeof queryExtraction>;

/** `mode` defaults to `field`. */
const queryExtractionGiven = withDefault('mode', 'field', queryExtraction);

const pathFault = "must be a path made of `$`, `.name`, `['name']` and `[n]`";

const jsonPath = z.string().refine((text) => parseStoredPath(text) !== undefined, pathFault);

const contextMapping = z
  .record(z.string().min(1).max(128), jsonPath)
  .refine(
    (mapping) => Object.keys(mapping).length <= mappedNamesMax,
    `has more than ${mappedNamesMax} names`,
  );

/** Refuses, on save, paths that only stored configurations may have. */
export function checkMapping({ context_mapping: mapping }: Pick<WebhookConfig, 'context_mapping'>): void {
  for (const [name, path] of Object.entries(mapping)) {
    if (parseJsonPath(path) === undefined)
      throw invalidField(`trigger_config.context_mapping.${name}`, pathFault);
  }
}

export const responseFormats = ['raw', 'erp', 'slack', 'teams', 'twiml'] as const;
export type ResponseFormat = (typeof responseFormats)[number];

const responseAdapter = z.strictObject({
  format: z.enum(responseFormats).optional(),
  split_messages: z.boolean().optional(),
  max_messages: z.int().min(1).max(50).optional(),
});

const sessionStrategy = z.strictObject({
  mode: z.enum(['derive', 'ephemeral']),
  fields: z.array(dottedPath).min(1).max(5).optional(),
});

export const channelTypes = ['twilio', 'whatsapp_cloud', 'slack'] as const;
export type ChannelType = (typeof channelTypes)[number];

/** The base URLs of the channel vendors: their own, unless the operator configured others. */
export type ChannelAddresses = Readonly<Record<ChannelType, string>>;

const channel = z.strictObject({
  type: z.enum(channelTypes),
  auth: z
    .strictObject({ type: z.string().max(50).optional(), ...secretFields })
    .superRefine(refuseUnlessOneSecret)
    .optional()
    .describe('If set, the vendor’s own signature is required instead of `auth.type`.'),
});

const senderAccess = z.strictObject({
  mode: z.enum(['any', 'members', 'whitelist']).default('any'),
  identity_field: dottedPath.optional(),
  match_column: z.enum(['email', 'phone', 'external_id']).default('email'),
  resolve_user: z.boolean().default(false),
  identifiers: z.array(z.string().min(1).max(255)).max(identifiersMax).default([]),
});

export type SenderAccess = z.output<typeof senderAccess>;

const webhookBase = z.object({
  auth: auth.prefault({}),
  query_extraction: queryExtractionGiven.optional(),
  context_mapping: contextMapping.default({}),
  response_adapter: responseAdapter.prefault({}),
  session_strategy: sessionStrategy.optional(),
  timeout_ms: z
    .unknown()
    .optional()
    .describe(
      'Milliseconds. Can only shorten the deadline; a value that is not a number or is below 1000 is ignored.',
    ),
  channel: channel.optional(),
  sender_access: senderAccess.prefault({}),
  execution: execution.prefault({}),
});

/** `trigger_config` of a webhook with every default filled in. */
export const webhookConfig = webhookBase.transform(withDependentDefaults).superRefine(refuseWhatDoesNotFit);

export type WebhookConfig = ReturnType<typeof withDependentDefaults>;

/** The settings by which the response to a request is written. */
export interface ResponseSettings extends Pick<WebhookConfig, 'response_adapter'> {
  readonly execution: Pick<WebhookConfig['execution'], 'split_config'>;
}

/** Fills defaults that depend on other fields. */
function withDependentDefaults(given: z.output<typeof webhookBase>) {
  const { channel: from, execution: run, response_adapter: adapter, session_strategy: strategy } = given;
  const format = adapter.format ?? (from?.type === 'twilio' ? ('twiml' as const) : ('raw' as const));
  return {
    auth: given.auth,
    query_extraction: given.query_extraction,
    context_mapping: given.context_mapping,
    sender_access: given.sender_access,
    timeout_ms: given.timeout_ms,
    channel: from,
    response_adapter: { format },
    session_strategy: {
      mode: strategy?.mode ?? (from === undefined ? ('ephemeral' as const) : ('derive' as const)),
      fields: strategy?.fields,
    },
    execution: {
      ...run,
      split_config: splitConfigOf(run.split_config, receiverOf(from?.type, format, run), adapter),
    },
  };
}

/** What bounds the length of one text: the channel, else the format; the tenant's own receiver takes any length. */
function receiverOf(
  from: ChannelType | undefined,
  format: ResponseFormat,
  run: Pick<Execution, 'mode' | 'callback'>,
): Receiver {
  const isOutOfBand = run.mode === 'async' || (from !== undefined && from !== 'twilio');
  if (run.callback === undefined || !isOutOfBand) return { name: from ?? format, isDirect: true };
  if (format === 'slack' || format === 'teams') return { name: format, isDirect: true };
  return { name: run.mode === 'async' ? undefined : from, isDirect: false };
}

function refuseWhatDoesNotFit(config: WebhookConfig, context: z.RefinementCtx): void {
  const refuse = (path: readonly string[], message: string): void => {
    context.addIssue({ code: 'custom', path: [...path], message });
  };
  const { session_strategy: strategy, execution: run, channel: from } = config;
  if (strategy.mode === 'derive' && strategy.fields === undefined && from === undefined) {
    refuse(['session_strategy', 'fields'], 'is required to derive sessions, unless a channel is configured');
  }
  if (!run.message_buffer.enabled) return;
  const buffer = ['execution', 'message_buffer'];
  if (run.mode !== 'async') refuse(buffer, 'needs execution.mode async');
  else if (strategy.mode !== 'derive') refuse(buffer, 'needs session_strategy.mode derive');
  else if (run.callback === undefined && from === undefined)
    refuse(buffer, 'needs a callback or a channel to answer through');
}
