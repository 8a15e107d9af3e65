import { z } from 'zod';
import { roles } from '../../kernel/caller.js';
import { keyPrefixes } from './key-text.js';
import { tiers } from './tiers.js';

const daysMax = 36_500;

const storable = (text: z.ZodString) =>
  text.refine(
    (value) => !value.includes('\0') && value.isWellFormed(),
    'contains characters that cannot be stored',
  );

const requestsPerMinute = z.int().min(1).max(1_000_000_000);

const fields = {
  name: storable(z.string().trim().min(1).max(200)),
  description: storable(z.string().max(2_000)).nullish(),
  prefix: z.enum(keyPrefixes).default('svc_live_'),
  rateLimitPerMinute: requestsPerMinute.nullish(),
  quotaLimit: z.int().min(1).nullish(),
  expiresInDays: z.number().positive().max(daysMax).nullish(),
};

/** The settings of a new key. REST cannot make a key with role owner. */
export const newKey = z
  .object({
    ...fields,
    role: z.enum(['admin', 'editor', 'member']).default('admin'),
    rate_limit_per_minute: fields.rateLimitPerMinute.describe('The same as `rateLimitPerMinute`.'),
    quota_limit: fields.quotaLimit.describe('The same as `quotaLimit`.'),
    expires_in_days: fields.expiresInDays.describe('The same as `expiresInDays`.'),
  })
  .transform(({ rate_limit_per_minute: rate, quota_limit: quota, expires_in_days: days, ...given }) => ({
    ...given,
    rateLimitPerMinute: given.rateLimitPerMinute ?? rate,
    quotaLimit: given.quotaLimit ?? quota,
    expiresInDays: given.expiresInDays ?? days,
  }));

/** The settings of a key that the operator makes: role owner is allowed. */
export const operatorKey = z.object({ ...fields, role: z.enum(roles).default('admin') });

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

export const keyParams = z.object({ keyId: z.uuid() });

export const statuses = ['active', 'revoked', 'expired'] as const;
export type KeyStatus = (typeof statuses)[number];

const moment = z.iso.datetime();
const role = z.enum(roles);

export const createdKey = z.object({
  id: z.uuid(),
  api_key: z.string(),
  prefix: z.enum(keyPrefixes),
  suffix: z.string(),
  name: z.string(),
  role,
  rate_limit_per_minute: z.number(),
  calculated_tier: z.enum(tiers),
  expires_at: moment.nullable(),
});

const creator = z
  .object({ id: z.uuid().nullable(), name: z.string() })
  .describe('The user or the API key that made the key; the id is null for the operator.');

export const listedKey = z.object({
  id: z.uuid(),
  name: z.string(),
  prefix: z.enum(keyPrefixes),
  suffix: z.string(),
  status: z.enum(statuses),
  role,
  rate_limit_per_minute: z.number(),
  created_by: creator,
  last_used_at: moment.nullable(),
});

export const keyDetail = z.object({
  id: z.uuid(),
  name: z.string(),
  prefix: z.enum(keyPrefixes),
  suffix: z.string(),
  status: z.enum(statuses),
  role,
  rate_limit_per_minute: z.number(),
  created_by: creator,
  calculated_tier: z.enum(tiers),
  expires_at: moment.nullable(),
  total_requests: z.number(),
  tenant: z.object({ id: z.uuid(), name: z.string() }),
});

export const keyStats = z.object({
  total: z.number(),
  active: z.number(),
  revoked: z.number(),
  expired: z.number(),
  total_requests: z.number(),
});

export const changedRate = z.object({
  key_id: z.uuid(),
  old_rpm: z.number(),
  new_rpm: z.number(),
  calculated_tier: z.enum(tiers),
});
