import { z } from 'zod';
import { type Role } from '../../kernel/caller.js';
import { invalidField } from '../../kernel/errors.js';
import { allows } from '../../http/operations/index.js';
import type { Consumer } from './consumers.js';
import type { ConsumerPosition, ConsumerRow } from './consumers.store.js';

const moment = z.iso.datetime();

export const consumerShape = z.object({
  consumer_key: z.string(),
  display_name: z.string().nullable(),
  channels: z.array(z.string()),
  total_sessions: z.number(),
  total_turns: z.number(),
  first_seen: moment.nullable(),
  last_seen: moment.nullable(),
  blocked: z.boolean(),
  blocked_reason: z.string().nullable().optional().describe('Only for roles that may change the denylist.'),
});

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

export const deniedShape = z.object({
  consumer_key: z.string(),
  display_name: z.string().nullable(),
  blocked_reason: z.string().nullable(),
  blocked_by: z.string().nullable(),
  blocked_at: moment.nullable(),
});

export function deniedAnswer(row: ConsumerRow): z.input<typeof deniedShape> {
  return {
    consumer_key: row.consumer_key,
    display_name: row.display_name,
    blocked_reason: row.blocked_reason,
    blocked_by: row.blocked_by,
    blocked_at: row.blocked_at?.toISOString() ?? null,
  };
}

const positionShape = z.tuple([z.int(), z.string().min(1)]);

/** The same as `encodeCursor`, for rows whose key is a text. */
export function cursorOfConsumer({ latest_at, consumer_key }: ConsumerRow): string {
  return Buffer.from(JSON.stringify([latest_at.getTime(), consumer_key])).toString('base64url');
}

export function decodeConsumerCursor(cursor: string): ConsumerPosition {
  try {
    const [atMs, key] = positionShape.parse(JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8')));
    const at = new Date(atMs);
    if (Number.isNaN(at.getTime()) || key.includes('\0') || !key.isWellFormed())
      throw new RangeError('not a cursor position');
    return { at, key };
  } catch {
    // Every decoding error means the same: the cursor is not valid.
    throw invalidField('cursor', 'is not a cursor of this list');
  }
}
