import { context, propagation, type Span, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { isTraced } from './spans.js';

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

interface TracedOperation {
  readonly name: string;
  readonly method: string;
  readonly path: string;
}

/** Headers in which callers pass on their trace. */
export const traceHeaders = ['traceparent', 'tracestate'] as const;

/**
 * Spans of requests through the OpenTelemetry API. The variables of OpenTelemetry start its SDK; another one may be loaded
 * before the node (`node --import ./tracing.mjs …`). Without one nothing is recorded, and requests have no overhead.
 */
export class RequestTracing {
  readonly #tracer = trace.getTracer('troupe');
  readonly enabled = isTraced();

  begin(
    operation: TracedOperation,
    requestId: string,
    headers: Readonly<Record<string, string>>,
  ): RequestSpan {
    const parent = propagation.extract(context.active(), headers);
    const attributes = {
      'http.request.method': operation.method,
      // Of the declaration, since the address itself may hold a secret.
      'http.route': operation.path,
      'troupe.operation': operation.name,
      'troupe.request_id': requestId,
    };
    const span = this.#tracer.startSpan(operation.name, { kind: SpanKind.SERVER, attributes }, parent);
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
