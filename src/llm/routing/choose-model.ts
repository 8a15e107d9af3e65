/**
 * Auto routing: chooses the model if the caller named none. Pure arithmetic over the catalogue: weighs the needs of the
 * task against price, observed speed and observed failures, and never leaves the given tiers.
 */
import type { ModelTier } from '../../kernel/plans/index.js';
import type { CatalogueModel, TaskKind } from '../catalogue/model.js';
import { costOf } from '../catalogue/price.js';
import { type LlmRequest, unreadablePart } from '../contract.js';
import { assumedOutput, estimateInputTokens } from '../estimate.js';
import { zeroUsage } from '../usage.js';
import { classifyTask, type Task } from './classify-task.js';
import type { Observed } from './observations.js';

export interface Routing {
  readonly is_auto_routed: boolean;
  readonly model_chosen: string;
  readonly confidence: number;
  readonly reason?: string;
}

export interface Choice {
  /** In the order of the tries. */
  readonly chain: readonly CatalogueModel[];
  readonly routing: Routing;
}

export interface Circumstances {
  readonly tiers: readonly ModelTier[];
  /** Whether a key for it exists and its vendor's circuit breaker is not open. */
  readonly isAvailable: (model: CatalogueModel) => boolean;
  readonly observed: (model: string) => Observed;
}

const chainLength = 4;

/** The quality that each kind of task needs, on the scale of `quality`. */
const neededQuality: Readonly<Record<TaskKind, number>> = {
  small_talk: 50,
  extraction: 60,
  general: 66,
  code: 86,
  mathematics: 88,
  reasoning: 88,
};

/** The value of a strength on the same scale. */
const strengthBonus = 6;

interface Scored {
  readonly model: CatalogueModel;
  readonly score: number;
  readonly costUsd: number;
}

/** Undefined if no model may serve the request. */
export function chooseModel(
  request: LlmRequest,
  models: readonly CatalogueModel[],
  circumstances: Circumstances,
): Choice | undefined {
  const task = classifyTask(request);
  const inputTokens = estimateInputTokens(request);
  const needs = neededCapabilities(request);
  const allowed = models.filter(
    (model) =>
      circumstances.tiers.includes(model.tier) &&
      fits(model, request, inputTokens) &&
      needs.every((capability) => model.capabilities.has(capability)) &&
      unreadablePart(request, model.capabilities) === undefined &&
      circumstances.isAvailable(model),
  );
  // The simulated vendor answers only if no other vendor can.
  const real = allowed.filter((model) => model.vendor !== 'sim');
  const candidates = real.length > 0 ? real : allowed;
  const scored = candidates
    .map((model) => scoreOf(model, task, request, inputTokens, circumstances.observed(model.id)))
    .sort((a, b) => b.score - a.score || a.costUsd - b.costUsd || (a.model.id < b.model.id ? -1 : 1));
  const [best] = scored;
  if (best === undefined) return undefined;
  return {
    chain: chainOf(scored),
    routing: {
      is_auto_routed: true,
      model_chosen: best.model.id,
      confidence: confidenceOf(scored, task),
      reason: reasonOf(best, task, inputTokens, candidates.length, circumstances.tiers),
    },
  };
}

function neededCapabilities(request: LlmRequest): readonly string[] {
  return [
    ...(request.tools !== undefined && request.tools.length > 0 ? ['tools'] : []),
    ...(request.responseFormat?.type === 'json_schema' ? ['structured_output'] : []),
  ];
}

/** Keeps a tenth of the window free, since the prompt's length is only estimated. */
function fits(model: CatalogueModel, request: LlmRequest, inputTokens: number): boolean {
  return inputTokens * 1.1 + assumedOutput(request, model.maxOutputTokens) <= model.contextWindow;
}

function scoreOf(
  model: CatalogueModel,
  task: Task,
  request: LlmRequest,
  inputTokens: number,
  observed: Observed,
): Scored {
  const quality = model.quality + (model.strengths.has(task.kind) ? strengthBonus : 0);
  const needed = neededQuality[task.kind] + (inputTokens > 20_000 ? 4 : 0);
  const shortfall = Math.max(0, needed - quality);
  const surplus = Math.max(0, quality - needed);
  const usage = {
    ...zeroUsage,
    inputUncached: inputTokens,
    outputVisible: assumedOutput(request, model.maxOutputTokens),
  };
  const costUsd = costOf(usage, model.price);
  // Ten times the price costs 12 points of quality; a surplus of quality is worth little.
  const price = 12 * Math.log10(1 + costUsd / 0.0001);
  const slowness = Math.min(15, (observed.firstSignalMs ?? 800) / 400);
  const score = 100 - 2.5 * shortfall + 0.15 * surplus - price - slowness - 60 * observed.failureRate;
  return { model, score, costUsd };
}

/** The best model first, then the best of other vendors, so that an outage of one vendor is survived early. */
function chainOf(scored: readonly Scored[]): CatalogueModel[] {
  const chain: CatalogueModel[] = [];
  const later: CatalogueModel[] = [];
  const vendors = new Set<string>();
  for (const { model } of scored) {
    if (vendors.has(model.vendor)) later.push(model);
    else chain.push(model);
    vendors.add(model.vendor);
  }
  return [...chain, ...later].slice(0, chainLength);
}

function confidenceOf(scored: readonly Scored[], task: Task): number {
  const [first, second] = scored;
  const lead = first === undefined || second === undefined ? 20 : first.score - second.score;
  const confidence = 0.5 + 0.25 * task.certainty + Math.min(0.24, lead / 50);
  return Math.round(confidence * 100) / 100;
}

function reasonOf(
  best: Scored,
  task: Task,
  inputTokens: number,
  count: number,
  tiers: readonly ModelTier[],
): string {
  const kind = task.kind.replace('_', ' ');
  const among =
    count === 1 ? 'the only model' : `best balance of quality, price and speed among ${count} models`;
  return (
    `${kind} task of about ${inputTokens} prompt tokens; ${best.model.id} is ${among} ` +
    `of the tiers ${tiers.join(', ')} (about $${best.costUsd.toPrecision(2)} a call)`
  );
}
