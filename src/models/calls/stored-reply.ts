import { z } from 'zod';
import type { Usage } from '../../llm/index.js';

const tokens = z.int().min(0);

/** A cached answer as nodes share it. */
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

/** Undefined if the text is not in the format of this version. */
export function readKeptAnswer(text: string): KeptAnswer | undefined {
  try {
    return keptAnswer.safeParse(JSON.parse(text)).data;
  } catch {
    // Not JSON: treated as a cache miss; the next answer replaces it.
    return undefined;
  }
}

/** Drops the vendor's own usage object and cost, which only the ledger keeps. */
export function keptUsage({
  raw: _raw,
  vendorCost: _cost,
  serviceTier: _tier,
  ...counts
}: Usage): KeptAnswer['usage'] {
  return counts;
}
