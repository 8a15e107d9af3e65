import { z } from 'zod';

/** For how many days a tenant's rows are kept. */
export const retentionDefaults = {
  messages_days: 365,
  executions_days: 90,
  previews_days: 30,
  usage_days: 400,
  audit_days: 400,
} as const;

export type Retention = { readonly [Name in keyof typeof retentionDefaults]: number };

const days = z.int().min(1).max(3_650);

export const retentionShape = z.object({
  messages_days: days,
  executions_days: days,
  previews_days: days,
  usage_days: days,
  audit_days: days,
});

/** As stored: what differs from the defaults. */
export const storedRetention = retentionShape.partial();

/** Null restores a default; null for all restores every default. */
export const retentionPatch = z
  .object({
    messages_days: days.nullish(),
    executions_days: days.nullish(),
    previews_days: days.nullish(),
    usage_days: days.nullish(),
    audit_days: days.nullish(),
  })
  .nullable();

export type StoredRetention = z.output<typeof storedRetention>;

export function retentionOf(stored: StoredRetention): Retention {
  return retentionShape.parse({ ...retentionDefaults, ...stored });
}

export function patchedRetention(
  before: StoredRetention,
  patch: z.output<typeof retentionPatch>,
): StoredRetention {
  if (patch === null) return {};
  const merged = Object.entries({ ...before, ...patch }).filter(
    ([, value]) => value !== null && value !== undefined,
  );
  return storedRetention.parse(Object.fromEntries(merged));
}
