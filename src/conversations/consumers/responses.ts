import { z } from 'zod';
import { type Role } from '../../kernel/caller.js';
import { named, allows, encodeCursor, positionOf } from '../../http/operations/index.js';
import type { Consumer } from './consumers.js';
import type { ConsumerPosition, ConsumerRow } from './consumers.store.js';

const moment = z.iso.datetime();

export const consumerShape = named(
  'Consumer',
  z.object({
    consumer_key: z.string(),
    display_name: z.string().nullable(),
    channels: z.array(z.string()),
    total_sessions: z.number(),
    total_turns: z.number(),
    first_seen: moment.nullable(),
    last_seen: moment.nullable(),
    blocked: z.boolean(),
    blocked_reason: z.string().nullable().optional().describe('Only for roles that may change the denylist.'),
  }),
);

export function consumerAnswer(row: Consumer, role: Role): z.input<typeof consumerShape> {
  return {
    consumer_key: row.consumer_key,
    display_name: row.display_name,
    channels: row.channels,
    total_sessions: row.total_sessions,
    total_turns: row.total_turns,
    first_seen: row.first_seen?.toISOString() ?? null,
    last_seen: row.last_seen?.toISOString() ?? null,
    blocked: row.blocked,
    ...(allows(role, 'telemetry:write') ? { blocked_reason: row.blocked_reason } : {}),
  };
}

export const deniedShape = named(
  'DeniedConsumer',
  z.object({
    consumer_key: z.string(),
    display_name: z.string().nullable(),
    blocked_reason: z.string().nullable(),
    blocked_by: z.string().nullable(),
    blocked_at: moment.nullable(),
  }),
);

export function deniedAnswer(row: ConsumerRow): z.input<typeof deniedShape> {
  return {
    consumer_key: row.consumer_key,
    display_name: row.display_name,
    blocked_reason: row.blocked_reason,
    blocked_by: row.blocked_by,
    blocked_at: row.blocked_at?.toISOString() ?? null,
  };
}

/** PostgreSQL stores no null character and no half of a surrogate pair. */
const consumerKey = z
  .string()
  .min(1)
  .refine((key) => !key.includes('\0') && key.isWellFormed());

/** The cursor of a consumer, whose id in the list is its key. */
export function cursorOfConsumer({ latest_at, consumer_key }: ConsumerRow): string {
  return encodeCursor({ at: latest_at, id: consumer_key });
}

export function decodeConsumerCursor(cursor: string): ConsumerPosition {
  const { at, id } = positionOf(cursor, consumerKey);
  return { at, key: id };
}
