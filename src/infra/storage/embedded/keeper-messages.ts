// The messages between a node and its keeper.
import { z } from 'zod';

const startOrder = z.object({
  type: z.literal('start'),
  directory: z.string(),
  settings: z.record(z.string(), z.string()),
  flush: z.boolean(),
});
const stopOrder = z.object({ type: z.literal('stop') });

export const orderSchema = z.discriminatedUnion('type', [startOrder, stopOrder]);
export type StartOrder = z.infer<typeof startOrder>;
export type KeeperOrder = z.infer<typeof orderSchema>;

export const reportSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('ready'), port: z.number(), password: z.string() }),
  z.object({
    type: z.literal('failed'),
    failure: z.enum([
      'not-installed',
      'in-use',
      'no-account',
      'foreign-folder',
      'wrong-version',
      'not-started',
      'keeper-lost',
    ]),
    message: z.string(),
  }),
]);
export type KeeperReport = z.infer<typeof reportSchema>;
