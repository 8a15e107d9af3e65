/** Everything that loads OpenTelemetry's SDK: imported only if the settings ask for an export. */
import { context, type HrTime, propagation, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { hrTime, setGlobalErrorHandler, W3CTraceContextPropagator } from '@opentelemetry/core';
import { type Resource, resourceFromAttributes } from '@opentelemetry/resources';
import { BatchLogRecordProcessor, LoggerProvider } from '@opentelemetry/sdk-logs';
import {
  MeterProvider,
  type MetricProducer,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { Settings } from '../../kernel/config/index.js';
import type { SignalPlan } from './export-plan.js';
import { type ExportParts, logExporter, metricExporter, traceExporter } from './exporters.js';
import { emitLine } from './log-lines.js';
import { metricData } from './metric-data.js';

export interface SdkParts extends ExportParts {
  readonly nodeId: string;
  /** The metrics in the Prometheus format. */
  readonly metrics: () => Promise<string>;
  /** Hands each line of the log to the sink, until the returned function is called. */
  readonly followLog: (sink: (line: string) => void) => () => void;
}

/** Ends one export: sends what is queued, then stops. */
type End = () => Promise<void>;

export function startExports(plans: readonly SignalPlan[], parts: SdkParts): readonly End[] {
  // Failures are told by `onState`, once each time the receiver goes away.
  setGlobalErrorHandler(() => undefined);
  const resource = resourceOf(parts);
  return plans.map((plan) => {
    if (plan.signal === 'traces') return exportTraces(plan, parts, resource);
    return plan.signal === 'metrics'
      ? exportMetrics(plan, parts, resource)
      : exportLogs(plan, parts, resource);
  });
}

function resourceOf({ settings, nodeId, version }: SdkParts): Resource {
  const { otelServiceName, otelResourceAttributes: given = {} } = settings;
  return resourceFromAttributes({
    'service.name': otelServiceName ?? given['service.name'] ?? 'troupe',
    'service.version': version,
    'service.instance.id': nodeId,
    ...Object.fromEntries(Object.entries(given).filter(([name]) => name !== 'service.name')),
  });
}

function exportTraces(plan: SignalPlan, parts: SdkParts, resource: Resource): End {
  const provider = new TracerProvider({
    resource,
    sampler: samplerOf(parts.settings),
    spanProcessors: [new BatchSpanProcessor({ exporter: traceExporter(plan, parts) })],
  });
  // An SDK that was loaded before the node keeps recording its spans; this one then has none.
  const isOurs = trace.setGlobalTracerProvider(provider);
  const hasContext = context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  const propagates = propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  return async () => {
    await provider.shutdown();
    if (isOurs) trace.disable();
    if (hasContext) context.disable();
    if (propagates) propagation.disable();
  };
}

function samplerOf({ otelSampler, otelSamplerArg }: Settings): Sampler {
  const root = otelSampler.endsWith('always_on')
    ? new AlwaysOnSampler()
    : otelSampler.endsWith('always_off')
      ? new AlwaysOffSampler()
      : new TraceIdRatioBasedSampler(otelSamplerArg);
  return otelSampler.startsWith('parentbased') ? new ParentBasedSampler({ root }) : root;
}

function exportMetrics(plan: SignalPlan, parts: SdkParts, resource: Resource): End {
  const { settings, version } = parts;
  const startTime: HrTime = hrTime();
  const producer: MetricProducer = {
    async collect() {
      const metrics = metricData(await parts.metrics(), { startTime, endTime: hrTime() });
      const scopeMetrics = [{ scope: { name: 'troupe', version }, metrics }];
      return { resourceMetrics: { resource, scopeMetrics }, errors: [] };
    },
  };
  const interval = settings.otelMetricIntervalMs;
  const reader = new PeriodicExportingMetricReader({
    exporter: metricExporter(plan, parts),
    exportIntervalMillis: interval,
    exportTimeoutMillis: Math.min(interval, settings.otelTimeoutMs),
    metricProducers: [producer],
  });
  const provider = new MeterProvider({ resource, readers: [reader] });
  return () => provider.shutdown();
}

function exportLogs(plan: SignalPlan, parts: SdkParts, resource: Resource): End {
  const exporter = logExporter(plan, parts);
  const provider = new LoggerProvider({ resource, processors: [new BatchLogRecordProcessor({ exporter })] });
  const logger = provider.getLogger('troupe', parts.version);
  const unfollow = parts.followLog((line) => emitLine(logger, line));
  return async () => {
    unfollow();
    await provider.shutdown();
  };
}
