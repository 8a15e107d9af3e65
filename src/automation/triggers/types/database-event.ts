import { z } from 'zod';
import { givenGuid } from '../../../http/operations/index.js';
import { fillText } from '../templates.js';
import { sourceFields } from '../config/source-fields.js';
import { triggerType } from './trigger-type.js';

const identifier = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_$]{0,62}$/, { error: 'must be the name of a column' });
const tableName = z.string().regex(/^[A-Za-z_][A-Za-z0-9_$]{0,62}(?:\.[A-Za-z_][A-Za-z0-9_$]{0,62})?$/, {
  error: 'must be the name of a table, as schema.table if the schema is not public',
});

export const databaseEventConfig = z.object({
  ...sourceFields,
  database_config_id: givenGuid,
  table: tableName,
  events: z
    .array(z.enum(['insert', 'update']))
    .min(1)
    .max(2)
    .default(['insert']),
  cursor_column: identifier.describe(
    'A column that increases with every new row; for `update` also with every change. For `insert` alone a column that ' +
      'increases with changes needs a `created_column`: without it a row that changes a day after it was read counts as new.',
  ),
  created_column: identifier
    .optional()
    .describe(
      'For `update` or `insert` alone: a number or time that increases with each new row and never changes within a row. ' +
        'It tells new rows from changed ones. Default for `update`: the primary key if it is a single integer; ' +
        'without either, a new row counts as changed.',
    ),
  channel: identifier.optional().describe('A notification channel of the database that wakes the poll.'),
  filter: z
    .record(identifier, z.union([z.string().max(2_000), z.number(), z.boolean(), z.null()]))
    .refine((filter) => Object.keys(filter).length <= 20, 'has more than 20 columns')
    .optional(),
  poll_ms: z.int().min(100).max(3_600_000).default(1_000),
  message_template: z
    .string()
    .min(1)
    .max(20_000)
    .describe('May contain `{{ column }}` for columns of the row.'),
});

export type DatabaseEventConfig = z.output<typeof databaseEventConfig>;

export const databaseEvent = triggerType({
  title: 'Database event',
  description: 'New or changed rows of a table.',
  config: databaseEventConfig,
  isPolled: () => true,
  messageOf: ({ message_template: template }, payload) => fillText(template, payload),
});
