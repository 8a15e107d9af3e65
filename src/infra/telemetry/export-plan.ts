import type { Settings } from '../../kernel/config/index.js';

export type Signal = 'traces' | 'metrics' | 'logs';

/** Where one kind of telemetry goes. */
export interface SignalPlan {
  readonly signal: Signal;
  readonly url: string;
  readonly protocol: Settings['otelProtocol'];
  readonly headers: Readonly<Record<string, string>>;
}

/** The standard's receiver, if an exporter is asked for without one. */
const standardReceiver = 'http://localhost:4318';

/** What the settings ask to export; empty if nothing is. */
export function exportPlan(settings: Settings): readonly SignalPlan[] {
  if (settings.otelDisabled) return [];
  const { otelEndpoint: shared, otelProtocol, otelHeaders } = settings;
  const plan = (
    signal: Signal,
    exporter: string | undefined,
    own: string | undefined,
    protocol: SignalPlan['protocol'] | undefined,
    headers: SignalPlan['headers'] | undefined,
  ): readonly SignalPlan[] => {
    const isWanted = exporter === 'otlp' || (exporter === undefined && (own ?? shared) !== undefined);
    if (!isWanted) return [];
    const url = own ?? `${(shared ?? standardReceiver).replace(/\/+$/, '')}/v1/${signal}`;
    return [{ signal, url, protocol: protocol ?? otelProtocol, headers: { ...otelHeaders, ...headers } }];
  };
  const { otelTracesExporter, otelTracesEndpoint, otelTracesProtocol, otelTracesHeaders } = settings;
  const { otelMetricsExporter, otelMetricsEndpoint, otelMetricsProtocol, otelMetricsHeaders } = settings;
  const { otelLogsExporter, otelLogsEndpoint, otelLogsProtocol, otelLogsHeaders } = settings;
  return [
    ...plan('traces', otelTracesExporter, otelTracesEndpoint, otelTracesProtocol, otelTracesHeaders),
    ...plan('metrics', otelMetricsExporter, otelMetricsEndpoint, otelMetricsProtocol, otelMetricsHeaders),
    ...plan('logs', otelLogsExporter, otelLogsEndpoint, otelLogsProtocol, otelLogsHeaders),
  ];
}
