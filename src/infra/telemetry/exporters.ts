import { readFileSync } from 'node:fs';
import { type ExportResult, ExportResultCode } from '@opentelemetry/core';
import { OTLPExporterBase } from '@opentelemetry/otlp-exporter-base';
import {
  createOtlpHttpExportDelegate,
  httpAgentFactoryFromOptions,
} from '@opentelemetry/otlp-exporter-base/node-http';
import {
  type IExporterMetricsHelper,
  type ISerializer,
  JsonLogsSerializer,
  JsonMetricsSerializer,
  JsonTraceSerializer,
  LogsExporterMetricsHelper,
  MetricsExporterMetricsHelper,
  ProtobufLogsSerializer,
  ProtobufMetricsSerializer,
  ProtobufTraceSerializer,
  TraceExporterMetricsHelper,
} from '@opentelemetry/otlp-transformer';
import { AggregationTemporality, type PushMetricExporter } from '@opentelemetry/sdk-metrics';
import type { LogRecordExporter } from '@opentelemetry/sdk-logs';
import type { SpanExporter } from '@opentelemetry/sdk-trace';
import type { Settings } from '../../kernel/config/index.js';
import type { SignalPlan } from './export-plan.js';

/** Exports at once per signal; further batches wait in the bounded queue of their processor. */
const exportsAtOnce = 4;

export interface ExportParts {
  readonly settings: Settings;
  readonly version: string;
  /** Told of the first failure after a success, and of the next success, so that a receiver that is away is one line. */
  readonly onState: (plan: SignalPlan, error: unknown) => void;
  /** Aborted when nothing is sent any more: an open request would hold the process until it times out. */
  readonly abandoned: AbortSignal;
}

export function traceExporter(plan: SignalPlan, parts: ExportParts): SpanExporter {
  const serializer = plan.protocol === 'http/json' ? JsonTraceSerializer : ProtobufTraceSerializer;
  return new ReportingExporter(plan, parts, serializer, TraceExporterMetricsHelper);
}

export function logExporter(plan: SignalPlan, parts: ExportParts): LogRecordExporter {
  const serializer = plan.protocol === 'http/json' ? JsonLogsSerializer : ProtobufLogsSerializer;
  return new ReportingExporter(plan, parts, serializer, LogsExporterMetricsHelper);
}

export function metricExporter(plan: SignalPlan, parts: ExportParts): PushMetricExporter {
  const serializer = plan.protocol === 'http/json' ? JsonMetricsSerializer : ProtobufMetricsSerializer;
  return Object.assign(new ReportingExporter(plan, parts, serializer, MetricsExporterMetricsHelper), {
    // As Prometheus counts: a lost export loses no increment.
    selectAggregationTemporality: () => AggregationTemporality.CUMULATIVE,
  });
}

type HttpAgentFactory = ReturnType<typeof httpAgentFactoryFromOptions>;

class ReportingExporter<Items> extends OTLPExporterBase<Items> {
  readonly #onResult: (error: unknown) => void;

  constructor(
    plan: SignalPlan,
    { settings, version, onState, abandoned }: ExportParts,
    serializer: ISerializer<Items, unknown>,
    helper: IExporterMetricsHelper<Items>,
  ) {
    const { url, headers, protocol } = plan;
    const type = protocol === 'http/json' ? 'application/json' : 'application/x-protobuf';
    super(
      createOtlpHttpExportDelegate(
        {
          url,
          headers: async () => {
            // A retry would open another request.
            abandoned.throwIfAborted();
            return { ...headers, 'content-type': type };
          },
          timeoutMillis: settings.otelTimeoutMs,
          concurrencyLimit: exportsAtOnce,
          compression: settings.otelCompression,
          userAgent: `troupe/${version}`,
          agentFactory: endingAgents(settings, abandoned),
        },
        serializer,
        'otlp_http_exporter',
        helper,
        undefined,
      ),
    );
    let isAway = false;
    this.#onResult = (error) => {
      if (isAway === (error !== undefined)) return;
      isAway = error !== undefined;
      onState(plan, error);
    };
  }

  override export(items: Items, done: (result: ExportResult) => void): void {
    super.export(items, (result) => {
      const isSent = result.code === ExportResultCode.SUCCESS;
      this.#onResult(isSent ? undefined : (result.error ?? new Error('the export failed')));
      done(result);
    });
  }
}

/** Connections that end when the exports are abandoned. */
function endingAgents(settings: Settings, abandoned: AbortSignal): HttpAgentFactory {
  const make = httpAgentFactoryFromOptions({
    keepAlive: true,
    ...pem('ca', 'OTEL_EXPORTER_OTLP_CERTIFICATE', settings.otelCertificate),
    ...pem('cert', 'OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE', settings.otelClientCertificate),
    ...pem('key', 'OTEL_EXPORTER_OTLP_CLIENT_KEY', settings.otelClientKey),
  });
  return async (protocol) => {
    const agent = await make(protocol);
    abandoned.addEventListener('abort', () => agent.destroy(), { once: true });
    return agent;
  };
}

function pem(
  name: 'ca' | 'cert' | 'key',
  variable: string,
  path: string | undefined,
): Readonly<Record<string, Buffer>> {
  if (path === undefined) return {};
  try {
    return { [name]: readFileSync(path) };
  } catch (cause) {
    throw new Error(`the file in ${variable} (${path}) cannot be read`, { cause });
  }
}
