import { z } from 'zod';
import type { Usage } from '../../llm/index.js';

const tokens = z.int().min(0);

/** An answer that may be given again, in the form in which nodes share it. */
const keptAnswer = z.object({
  text: z.string(),
  model: z.string(),
  vendor: z.string(),
  stop: z.enum(['stop', 'stop_sequence']),
  usage: z.object({
    inputUncached: tokens,
    cacheRead: tokens,
    cacheWrite5m: tokens,
    cacheWrite1h: tokens,
    outputVisible: tokens,
    reasoning: tokens,
    toolPrompt: tokens,
    source: z.enum(['reported', 'estimated', 'reconciled']),
  }),
  routing: z
    .object({
      is_auto_routed: z.boolean(),
      model_chosen: z.string(),
      confidence: z.number(),
      reason: z.string().exactOptional(),
    })
    .optional(),
  /** Wall clock. */
  keptUntilMs: z.number(),
});
export type KeptAnswer = z.output<typeof keptAnswer>;

export type Answer = Omit<KeptAnswer, 'keptUntilMs'>;

/** Undefined for whatever another version of the program, or anybody else, has left there. */
export function readKeptAnswer(text: string): KeptAnswer | undefined {
  try {
    return keptAnswer.safeParse(JSON.parse(text)).data;
  } catch {
    // No JSON: the same as nothing kept, and the next answer takes its place.
    return undefined;
  }
}

/** What the vendor said beside the counts stays in the books. */
export function keptUsage({ raw: _raw, vendorCost: _cost, ...counts }: Usage): KeptAnswer['usage'] {
  return counts;
}
