import { activeTraceparent, type Spans, type WorkSpan } from '../../infra/diagnostics/index.js';
import { type AttemptReport, type AttemptStart, inputTokens, outputTokens } from '../../llm/index.js';
import type { CallOrder } from './call-order.js';

/** The names that the semantic conventions for generative AI give to vendors; others keep the platform's. */
const providerNames: Readonly<Record<string, string>> = { google: 'gcp.gemini', xai: 'x_ai' };

/**
 * A span for each attempt of a call, by the semantic conventions for generative AI. It holds names, counts and codes:
 * nothing that the caller or the model wrote.
 */
export class CallSpans {
  readonly #spans: Spans;
  readonly #order: CallOrder;
  #current: WorkSpan | undefined;

  constructor(spans: Spans, order: CallOrder) {
    this.#spans = spans;
    this.#order = order;
  }

  begin({ target: { model }, request, number, payer }: AttemptStart): void {
    const { scope, sessionId, executionId, traceparent = activeTraceparent() } = this.#order;
    const operation = request.embedding === undefined ? 'chat' : 'embeddings';
    this.#current = this.#spans.begin({
      name: `${operation} ${model.name}`,
      kind: 'client',
      parent: traceparent,
      attributes: {
        'gen_ai.operation.name': operation,
        'gen_ai.provider.name': providerNames[model.vendor] ?? model.vendor,
        'gen_ai.request.model': model.name,
        'gen_ai.request.stream': request.stream,
        ...(request.maxTokens !== undefined && { 'gen_ai.request.max_tokens': request.maxTokens }),
        ...(request.temperature !== undefined && { 'gen_ai.request.temperature': request.temperature }),
        ...(sessionId !== undefined && { 'gen_ai.conversation.id': sessionId }),
        ...(executionId !== undefined && { 'troupe.execution.id': executionId }),
        'troupe.tenant.id': scope.tenantId,
        'troupe.attempt': number,
        'troupe.payer': payer,
      },
    });
  }

  end({ request, usage, stop, error, answered, firstSignalMs, vendorRequestId }: AttemptReport): void {
    const span = this.#current;
    if (span === undefined) return;
    this.#current = undefined;
    span.set({
      'gen_ai.usage.input_tokens': inputTokens(usage),
      'gen_ai.usage.output_tokens': outputTokens(usage),
      'gen_ai.usage.cache_read.input_tokens': usage.cacheRead,
      'gen_ai.usage.cache_creation.input_tokens': usage.cacheWrite5m + usage.cacheWrite1h,
      ...(stop !== undefined && { 'gen_ai.response.finish_reasons': [stop] }),
      ...(answered?.model !== undefined && { 'gen_ai.response.model': answered.model }),
      ...(answered?.id !== undefined && { 'gen_ai.response.id': answered.id }),
      'gen_ai.usage.reasoning.output_tokens': usage.reasoning,
      ...(request.stream &&
        firstSignalMs !== undefined && { 'gen_ai.response.time_to_first_chunk': firstSignalMs / 1_000 }),
      ...(vendorRequestId !== undefined && { 'troupe.vendor_request_id': vendorRequestId }),
    });
    if (error !== undefined) span.fail(error.failure);
    span.end();
  }
}
