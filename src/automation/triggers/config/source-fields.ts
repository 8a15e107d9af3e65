import { z } from 'zod';
import { sourceExecution, splitConfigOf } from './execution-config.js';

/**
 * The fields of `trigger_config` that every source has. `timeout_ms` can only shorten the deadline. Values that are not
 * numbers or are below 1000 are ignored, so every value is valid here.
 */
export const sourceFields = {
  timeout_ms: z.unknown().optional().describe('Milliseconds. Can only shorten the deadline.'),
  execution: sourceExecution
    .prefault({})
    .transform((run) => ({ ...run, split_config: splitConfigOf(run.split_config) })),
};
