import { context, propagation, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import test from 'ava';
import { z } from 'zod';
import { anyone, declare } from '../../../../src/http/operations/index.js';
import { startEdge } from '../../../support/servers/edge.js';
import { eventually } from '../../../support/clocks/eventually.js';

const exporter = new InMemorySpanExporter();

test.before('somebody records traces', () => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  trace.setGlobalTracerProvider(
    new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] }),
  );
});

test("a request is a span of the caller's trace, its work is a child, and a failure shows only its kind", async (t) => {
  const operation = declare({
    name: 'thing.read',
    method: 'GET',
    path: '/thing',
    title: 'Thing',
    access: anyone(),
    output: z.object({}),
    handle: async () => {
      await Promise.resolve();
      trace.getTracer('test').startSpan('inner').end();
      throw new TypeError('holds a planted secret');
    },
  });
  const edge = await startEdge([operation]);
  t.teardown(edge.close);
  const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
  await fetch(`${edge.url}/thing`, { headers: { traceparent: `00-${traceId}-00f067aa0ba902b7-01` } });
  const spans = await eventually(() => {
    const found = exporter.getFinishedSpans();
    return found.some(({ name }) => name === 'thing.read') ? found : undefined;
  });
  const request = spans.find(({ name }) => name === 'thing.read');
  const inner = spans.find(({ name }) => name === 'inner');
  t.is(request?.spanContext().traceId, traceId);
  t.is(request?.parentSpanContext?.spanId, '00f067aa0ba902b7');
  t.is(inner?.parentSpanContext?.spanId, request?.spanContext().spanId);
  t.is(request?.attributes['http.response.status_code'], 500);
  t.is(request?.status.message, 'TypeError');
  t.false(JSON.stringify(request?.attributes).includes('planted'));
});
