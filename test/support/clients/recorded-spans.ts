// Spans as an operator's tracing gets them, as text: for tests of their content.
import { inspect } from 'node:util';
import { type Attributes, type Span, type SpanOptions, trace } from '@opentelemetry/api';

/** From here on, for the whole process: call it before creating the traced objects. */
export function recordSpans(): readonly string[] {
  const told: string[] = [];
  const isSet = trace.setGlobalTracerProvider({
    getTracer: () => ({
      startSpan: (name: string, options?: SpanOptions): Span => spanOf(name, options?.attributes, told),
      startActiveSpan: (name: string): never => {
        throw new Error(`${name} is no span of the product's kind`);
      },
    }),
  });
  if (!isSet)
    throw new Error('this process already has a tracer provider: run the test file in a process of its own');
  return told;
}

function spanOf(name: string, attributes: Attributes | undefined, told: string[]): Span {
  const tell = (...what: unknown[]): Span => {
    told.push(JSON.stringify([name, ...what]));
    return span;
  };
  const span: Span = {
    spanContext: () => ({ traceId: '1'.repeat(32), spanId: '1'.repeat(16), traceFlags: 1 }),
    setAttribute: tell,
    setAttributes: tell,
    addEvent: tell,
    addLink: tell,
    addLinks: tell,
    setStatus: tell,
    updateName: tell,
    end: () => void tell('end'),
    isRecording: () => true,
    // With its stack and its causes: there are exporters that write all of it.
    recordException: (exception) => void tell(inspect(exception, { depth: null, maxStringLength: null })),
  };
  return tell(attributes);
}
