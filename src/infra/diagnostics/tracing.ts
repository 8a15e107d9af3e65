import { context, propagation, type Span, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';

/** The result of a request, for its span. */
export interface SpanEnd {
  readonly status: number;
  readonly errorCode: string | undefined;
  readonly failure: unknown;
}

/** A running span. */
export interface RequestSpan {
  /** Runs `work`; spans created in it become children of this one. */
  within<Result>(work: () => Result): Result;
  end(result: SpanEnd): void;
}

/** Headers in which callers pass on their trace. */
export const traceHeaders = ['traceparent', 'tracestate'] as const;

/**
 * Spans of requests through the OpenTelemetry API. To record them, load an SDK before the node
 * (`node --import ./tracing.mjs …`). Without one nothing is recorded, and requests have no overhead.
 */
export class RequestTracing {
  readonly #tracer = trace.getTracer('troupe');
  readonly enabled: boolean;

  constructor() {
    const probe = this.#tracer.startSpan('start');
    // Not `isRecording`: a sampler that leaves out this one may record the next.
    this.enabled = trace.isSpanContextValid(probe.spanContext());
    probe.end();
  }

  begin(operation: string, requestId: string, headers: Readonly<Record<string, string>>): RequestSpan {
    const parent = propagation.extract(context.active(), headers);
    const attributes = { 'troupe.operation': operation, 'troupe.request_id': requestId };
    const span = this.#tracer.startSpan(operation, { kind: SpanKind.SERVER, attributes }, parent);
    const active = trace.setSpan(parent, span);
    return {
      within: (work) => context.with(active, work),
      end: (result) => endSpan(span, result),
    };
  }
}

function endSpan(span: Span, { status, errorCode, failure }: SpanEnd): void {
  span.setAttribute('http.response.status_code', status);
  if (errorCode !== undefined) span.setAttribute('troupe.error', errorCode);
  // A refusal is not an error of the node; only unexpected failures are. Their message may quote data of a tenant, so the
  // span gets only the error's name.
  if (failure !== undefined) {
    span.setStatus({
      code: SpanStatusCode.ERROR,
      message: failure instanceof Error ? failure.name : 'failure',
    });
  }
  span.end();
}
