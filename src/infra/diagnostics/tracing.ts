import { context, propagation, type Span, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';

/** What a span of one request tells at its end. */
export interface SpanEnd {
  readonly status: number;
  readonly errorCode: string | undefined;
  readonly failure: unknown;
}

/** A span that runs, and its ending. */
export interface RequestSpan {
  /** Runs `work` so that spans made in it become children of this one. */
  within<Result>(work: () => Result): Result;
  end(how: SpanEnd): void;
}

/** Headers by which callers hand on their trace. */
export const traceHeaders = ['traceparent', 'tracestate'] as const;

/**
 * Spans of requests, by OpenTelemetry's interface: whoever wants them loads an SDK before the node
 * (`node --import ./tracing.mjs …`). Without one nothing is recorded, and requests do not pay for it.
 */
export class RequestTracing {
  readonly #tracer = trace.getTracer('troupe');
  readonly enabled: boolean;

  constructor() {
    const probe = this.#tracer.startSpan('start');
    this.enabled = probe.isRecording();
    probe.end();
  }

  begin(operation: string, requestId: string, headers: Readonly<Record<string, string>>): RequestSpan {
    const parent = propagation.extract(context.active(), headers);
    const attributes = { 'troupe.operation': operation, 'troupe.request_id': requestId };
    const span = this.#tracer.startSpan(operation, { kind: SpanKind.SERVER, attributes }, parent);
    const active = trace.setSpan(parent, span);
    return {
      within: (work) => context.with(active, work),
      end: (how) => endSpan(span, how),
    };
  }
}

function endSpan(span: Span, { status, errorCode, failure }: SpanEnd): void {
  span.setAttribute('http.response.status_code', status);
  if (errorCode !== undefined) span.setAttribute('troupe.error', errorCode);
  // A refusal is the caller's affair; only what nobody foresaw is an error of the node. Its message may quote what
  // a tenant sent, so only its kind is told.
  if (failure !== undefined) {
    span.setStatus({
      code: SpanStatusCode.ERROR,
      message: failure instanceof Error ? failure.name : 'failure',
    });
  }
  span.end();
}
