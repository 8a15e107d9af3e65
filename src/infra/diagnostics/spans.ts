import {
  type Attributes,
  type Context,
  ProxyTracerProvider,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';

export interface SpanStart {
  readonly name: string;
  /** `client`: a request to another service. */
  readonly kind: 'internal' | 'client';
  readonly attributes: Attributes;
  /** The span that this one belongs to, on any node; undefined begins a trace. */
  readonly parent: string | undefined;
}

/** A piece of work under way. */
export interface WorkSpan {
  /** Names this span for its children, as W3C writes it. */
  readonly traceparent: string;
  set(attributes: Attributes): void;
  /** `type`: a code or class. A message may quote what a tenant wrote. */
  fail(type: string): void;
  end(): void;
}

/** Spans of work inside the node, through the OpenTelemetry API. */
export class Spans {
  readonly #tracer = trace.getTracer('troupe');

  /** Undefined if nobody records spans, so that work without a reader costs one check. */
  static ifRecorded(): Spans | undefined {
    return isTraced() ? new Spans() : undefined;
  }

  begin({ name, kind, attributes, parent }: SpanStart): WorkSpan {
    const options = { kind: kind === 'client' ? SpanKind.CLIENT : SpanKind.INTERNAL, attributes };
    const span = this.#tracer.startSpan(name, options, contextOf(parent));
    return {
      traceparent: traceparentOf(span),
      set: (more) => void span.setAttributes(more),
      fail(type) {
        span.setAttribute('error.type', type);
        span.setStatus({ code: SpanStatusCode.ERROR });
      },
      end: () => span.end(),
    };
  }
}

/** Whether an SDK is loaded, from the variables or before the node. Its sampler may still leave out any span. */
export function isTraced(): boolean {
  const provider = trace.getTracerProvider();
  return !(provider instanceof ProxyTracerProvider) || provider.getDelegateTracer('troupe') !== undefined;
}

/** The span of the request that is being answered; undefined outside of requests, and if nobody records spans. */
export function activeTraceparent(): string | undefined {
  const span = trace.getActiveSpan();
  return span !== undefined && trace.isSpanContextValid(span.spanContext()) ? traceparentOf(span) : undefined;
}

function traceparentOf(span: Span): string {
  const { traceId, spanId, traceFlags } = span.spanContext();
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
}

const written = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

function contextOf(parent: string | undefined): Context {
  const [, traceId, spanId, flags] = written.exec(parent ?? '') ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return ROOT_CONTEXT;
  const traceFlags = Number.parseInt(flags, 16);
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags, isRemote: true });
}
