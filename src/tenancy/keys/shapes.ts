import { z } from 'zod';
import { budgetShape } from '../../kernel/budget.js';
import { roles } from '../../kernel/caller.js';
import { rangeFrom } from './key-rules.js';
import { keyPrefixes, publicPrefixes } from './key-text.js';
import { isOrigin } from './public-use.js';
import { tiers } from './tiers.js';
import { named, givenGuid, givenUuid } from '../../http/operations/index.js';

const daysMax = 36_500;

const storable = (text: z.ZodString) =>
  text.refine(
    (value) => !value.includes('\0') && value.isWellFormed(),
    'contains characters that cannot be stored',
  );

/** Without a maximum: the plan sets it, and a higher rate has an error code of its own. */
const requestsPerMinute = z.int().min(1);

const fields = {
  name: storable(z.string().trim().min(1).max(200)),
  description: storable(z.string().max(2_000)).nullish(),
  prefix: z.enum(keyPrefixes).default('svc_live_'),
  rateLimitPerMinute: requestsPerMinute.nullish(),
  quotaLimit: z.int().min(1).nullish(),
  expiresInDays: z.number().positive().max(daysMax).nullish(),
};

const allowedModels = z
  .array(
    z
      .string()
      .max(200)
      .regex(/^[^\s*]+\*?$|^\*$/, { error: 'must be the id of a model, or a prefix with `*` at its end' }),
  )
  .min(1)
  .max(100)
  .nullish()
  .describe('Ids of models, or prefixes with `*` at their end. Null or absent: all models.');
const allowedIps = z
  .array(
    z
      .string()
      .max(64)
      .refine((text) => rangeFrom(text) !== null, 'must be a CIDR such as 203.0.113.0/24 or 2001:db8::/32'),
  )
  .min(1)
  .max(100)
  .nullish()
  .describe("CIDRs of the clients' addresses. Null or absent: all addresses.");
const origins = z
  .array(
    z.string().max(300).refine(isOrigin, 'must be an origin such as https://www.example.com, without a path'),
  )
  .min(1)
  .max(20)
  .describe('Origins of the pages that may use a public key.');
const agentIds = z.array(givenGuid).min(1).max(20).describe('The agents that a public key may chat with.');
const publicUse = { origins: origins.optional(), agent_ids: agentIds.optional() };
const limits = { budget: budgetShape.nullish(), allowed_models: allowedModels, allowed_ips: allowedIps };

/** What `PATCH /api/keys/:keyId` changes; null removes, and a missing field stays. */
export const keyPatch = named(
  'ApiKeyPatch',
  z.object({ description: fields.description, ...limits, ...publicUse }),
);

/** The settings of a new key. REST cannot make a key with role owner. */
export const newKey = named(
  'NewApiKey',
  z
    .object({
      ...fields,
      role: z.enum(['admin', 'editor', 'member']).default('admin'),
      rate_limit_per_minute: fields.rateLimitPerMinute.describe('The same as `rateLimitPerMinute`.'),
      quota_limit: fields.quotaLimit.describe('The same as `quotaLimit`.'),
      expires_in_days: fields.expiresInDays.describe('The same as `expiresInDays`.'),
      ...limits,
      ...publicUse,
    })
    .superRefine((given, context) => {
      if ((given.origins === undefined) === (given.agent_ids === undefined)) return;
      const path = [given.origins === undefined ? 'origins' : 'agent_ids'];
      context.addIssue({
        code: 'custom',
        path,
        message: 'is required: a public key needs origins and agent_ids',
      });
    })
    .transform(
      ({
        rate_limit_per_minute: rate,
        quota_limit: quota,
        expires_in_days: days,
        allowed_models: models,
        allowed_ips: ips,
        origins: pageOrigins,
        agent_ids: agents,
        ...given
      }) => ({
        ...given,
        ...(pageOrigins !== undefined &&
          agents !== undefined && {
            // Visitors have no role; the lowest one is what the key counts and runs as.
            role: 'member' as const,
            publicUse: { origins: pageOrigins, agentIds: agents },
          }),
        rateLimitPerMinute: given.rateLimitPerMinute ?? rate,
        quotaLimit: given.quotaLimit ?? quota,
        expiresInDays: given.expiresInDays ?? days,
        allowedModels: models,
        allowedIps: ips,
      }),
    ),
);

/** The settings of a key that the operator makes: role owner is allowed. */
export const operatorKey = z
  .object({ ...fields, role: z.enum(roles).default('admin'), ...limits })
  .transform(({ allowed_models: allowedModelsGiven, allowed_ips: allowedIpsGiven, ...given }) => ({
    ...given,
    allowedModels: allowedModelsGiven,
    allowedIps: allowedIpsGiven,
  }));

export const newRate = z
  .object({
    rateLimitPerMinute: requestsPerMinute.optional(),
    rate_limit_per_minute: requestsPerMinute.optional().describe('The same as `rateLimitPerMinute`.'),
  })
  .transform((given, context) => {
    const rateLimitPerMinute = given.rateLimitPerMinute ?? given.rate_limit_per_minute;
    if (rateLimitPerMinute !== undefined) return { rateLimitPerMinute };
    context.addIssue({
      code: 'invalid_type',
      expected: 'number',
      path: ['rateLimitPerMinute'],
      input: undefined,
    });
    return z.NEVER;
  });

export const keyParams = z.object({ keyId: givenUuid });

export const statuses = ['active', 'revoked', 'expired'] as const;
export type KeyStatus = (typeof statuses)[number];

const moment = z.iso.datetime();
const role = z.enum(roles);
/** Shown where they are set. */
const shownLimits = {
  budget: budgetShape.optional(),
  allowed_models: z.array(z.string()).optional(),
  allowed_ips: z.array(z.string()).optional(),
  origins: z.array(z.string()).optional(),
  agent_ids: z.array(z.uuid()).optional(),
};
const shownPrefix = z.enum([...keyPrefixes, ...publicPrefixes]);

export const createdKey = named(
  'CreatedApiKey',
  z.object({
    id: z.uuid(),
    api_key: z.string(),
    prefix: shownPrefix,
    suffix: z.string(),
    name: z.string(),
    role,
    rate_limit_per_minute: z.number(),
    ...shownLimits,
    calculated_tier: z.enum(tiers),
    expires_at: moment.nullable(),
  }),
);

const creator = named(
  'ApiKeyCreator',
  z
    .object({ id: z.uuid().nullable(), name: z.string() })
    .describe('The user or the API key that made the key; the id is null for the operator.'),
);

export const listedKey = named(
  'ApiKey',
  z.object({
    id: z.uuid(),
    name: z.string(),
    prefix: shownPrefix,
    suffix: z.string(),
    status: z.enum(statuses),
    role,
    rate_limit_per_minute: z.number(),
    ...shownLimits,
    created_by: creator,
    last_used_at: moment.nullable(),
  }),
);

export const keyDetail = named(
  'ApiKeyDetail',
  z.object({
    id: z.uuid(),
    name: z.string(),
    prefix: shownPrefix,
    suffix: z.string(),
    status: z.enum(statuses),
    role,
    rate_limit_per_minute: z.number(),
    ...shownLimits,
    description: z.string().nullable(),
    quotaLimit: z.number().nullable().describe('Its model work over its life; null sets no limit.'),
    created_by: creator,
    calculated_tier: z.enum(tiers),
    expires_at: moment.nullable(),
    last_used_at: moment.nullable(),
    total_requests: z.number(),
    tenant: z.object({ id: z.uuid(), name: z.string() }),
  }),
);

export const keyStats = named(
  'ApiKeyStats',
  z.object({
    total: z.number(),
    active: z.number(),
    revoked: z.number(),
    expired: z.number(),
    total_requests: z.number(),
  }),
);

export const changedRate = z.object({
  key_id: z.uuid(),
  old_rpm: z.number(),
  new_rpm: z.number(),
  calculated_tier: z.enum(tiers),
});
