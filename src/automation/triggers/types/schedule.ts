import { z } from 'zod';
import { invalidField } from '../../../kernel/errors.js';
import { nextRunsOf } from '../schedule/next-runs.js';
import { Schedule } from '../schedule/schedule.js';
import { sourceFields } from '../config/source-fields.js';
import { triggerType } from './trigger-type.js';

const messageCharsMax = 100_000;
const contextBytesMax = 16 * 1024;
const scalar = z.union([z.string().max(2_000), z.number(), z.boolean()]);

/** `trigger_config` of a schedule. The cron expression itself is validated by `CronLine`. */
export const scheduleConfig = z.object({
  ...sourceFields,
  cron: z.string().min(1).max(200).describe('Five fields, or six with the seconds first.'),
  timezone: z.string().min(1).max(100).default('UTC').describe('A name of the IANA time zone database.'),
  message: z.string().min(1).max(messageCharsMax),
  context: z
    .record(z.string().min(1).max(128), scalar)
    .refine((context) => Object.keys(context).length <= 50, 'has more than 50 names')
    .refine(
      (context) => Buffer.byteLength(JSON.stringify(context)) <= contextBytesMax,
      `has more than ${contextBytesMax} bytes as JSON`,
    )
    .default({}),
  missed: z
    .enum(['skip', 'run_once'])
    .default('skip')
    .describe('What to do about runs of the last 24 hours that no node was running for.'),
  allow_overlap: z
    .boolean()
    .default(false)
    .describe('Whether a run may start while the previous one is still running.'),
});

export type ScheduleConfig = z.output<typeof scheduleConfig>;

export const schedule = triggerType({
  title: 'Schedule',
  description: 'Times given by a cron expression.',
  config: scheduleConfig,
  isPolled: () => true,
  checkSettings(config, nowMs) {
    const read = Schedule.read(config, nowMs);
    if (!(read instanceof Schedule)) throw invalidField(`trigger_config.${read.field}`, read.issue);
  },
  nextRuns: (config, nowMs) => nextRunsOf(scheduleConfig.parse(config), nowMs),
  messageOf: ({ message }) => message,
  contextOf: ({ context }) => context,
  hasFixedMessage: true,
});
