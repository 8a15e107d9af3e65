import type { AttemptStart } from './attempt-report.js';
import { forEmbedding } from './embedding.js';
import { historyFor } from './history.js';
import { markedForCache } from './prompt-cache.js';
import { openSimEmbedding } from './sim/sim-embedding.js';
import { openSimAttempt } from './sim/sim-attempt.js';
import { parseSimModel } from './sim/sim-model.js';
import type { ClockLimits } from './transport/attempt-clocks.js';
import { AttemptFeed, type Attempt } from './transport/attempt-feed.js';
import type { CallTime } from './transport/call-time.js';
import { openHttpAttempt } from './transport/http-attempt.js';
import type { VendorPools } from './transport/pools.js';
import { VendorError } from './vendor-error.js';
import type { VendorAdapter } from './vendor.js';

export interface AttemptPorts {
  readonly time: CallTime;
  readonly pools: VendorPools;
  readonly adapterOf: (vendor: string) => VendorAdapter | undefined;
}

/** Opens the attempt over the network or in the built-in vendor. It never throws. */
export function openAttempt(start: AttemptStart, ports: AttemptPorts, clocks: ClockLimits): Attempt {
  const { model, credential } = start.target;
  const origin = { vendor: model.vendor, model: model.id, credentialId: credential.id };
  const { maxTokens } = start.request;
  const asked = markedForCache(start.request, model);
  const request = {
    ...asked,
    messages: historyFor(asked.messages, origin, model.family),
    // The bound is reduced to the model's maximum: callers set one bound for many models, and vendors refuse a larger one with 400.
    ...(maxTokens !== undefined && { maxTokens: Math.min(maxTokens, model.maxOutputTokens) }),
  };
  if (model.vendor === 'sim') return openSim(start, request, ports, clocks);
  const adapter = ports.adapterOf(model.vendor);
  if (adapter === undefined) return refused(model.vendor, 'no adapter for this vendor', ports, clocks);
  const form = request.embedding === undefined ? adapter : forEmbedding(adapter, request.embedding);
  if (form === undefined) return refused(model.vendor, 'this vendor makes no vectors', ports, clocks);
  return openHttpAttempt({
    adapter: form,
    request,
    model: {
      name: model.name,
      maxOutputTokens: model.maxOutputTokens,
      thinkingBudget: model.thinkingBudget,
      capabilities: model.capabilities,
    },
    baseUrl: credential.baseUrl,
    credentialId: credential.id,
    secret: credential.reveal(),
    signer: credential.signer,
    pools: ports.pools,
    time: ports.time,
    clocks,
  });
}

function openSim(
  start: AttemptStart,
  request: AttemptStart['request'],
  ports: AttemptPorts,
  clocks: ClockLimits,
): Attempt {
  const { model } = start.target;
  if (request.embedding !== undefined) {
    return openSimEmbedding(request.embedding, model, { time: ports.time, clocks });
  }
  const parsed = parseSimModel(model.name);
  if (parsed === undefined) return refused('sim', `no model of the name ${model.name}`, ports, clocks);
  return openSimAttempt({
    model: parsed,
    modelName: model.name,
    request,
    id: start.attemptId,
    time: ports.time,
    clocks,
  });
}

function refused(vendor: string, reason: string, ports: AttemptPorts, clocks: ClockLimits): Attempt {
  const feed = new AttemptFeed({ vendor, time: ports.time, clocks });
  feed.fail(new VendorError('unavailable', reason, { vendor }));
  return feed;
}
