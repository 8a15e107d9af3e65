import { exactAddress, flag, oneOf, setting, text, wholeNumber } from './setting.js';

const endpoint = exactAddress('http', 'https');
const protocol = oneOf('http/protobuf', 'http/json');
const exporter = oneOf('otlp', 'none');

const samplers = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;

/** `name=value` pairs as OpenTelemetry writes them: separated by commas, with percent-encoded values. */
function pairs(value: string): Readonly<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const item of value.split(',')) {
    if (item.trim() === '') continue;
    const equals = item.indexOf('=');
    const name = item.slice(0, equals).trim();
    if (equals < 1 || name === '') throw new Error('must be pairs such as name=value, separated by commas');
    found[name] = decoded(item.slice(equals + 1).trim());
  }
  return found;
}

function decoded(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    // Not encoded at all: a percent sign of its own.
    return value;
  }
}

function share(value: string): number {
  const number = Number(value);
  if (value.trim() === '' || !(number >= 0 && number <= 1)) throw new Error('must be a number from 0 to 1');
  return number;
}

/** The variables of OpenTelemetry, with their standard names and meanings. None set: nothing is exported. */
export const telemetryTable = {
  otelDisabled: setting('OTEL_SDK_DISABLED', 'true: no telemetry is exported', 'true', flag, {
    fallback: 'false',
  }),
  otelEndpoint: setting(
    'OTEL_EXPORTER_OTLP_ENDPOINT',
    'OTLP receiver of traces, metrics and logs; each goes to v1/… below this address',
    'http://collector:4318',
    endpoint,
  ),
  otelTracesEndpoint: setting(
    'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
    'the whole address for traces, in place of the one above',
    'http://collector:4318/v1/traces',
    endpoint,
  ),
  otelMetricsEndpoint: setting(
    'OTEL_EXPORTER_OTLP_METRICS_ENDPOINT',
    'the whole address for metrics',
    'http://collector:4318/v1/metrics',
    endpoint,
  ),
  otelLogsEndpoint: setting(
    'OTEL_EXPORTER_OTLP_LOGS_ENDPOINT',
    'the whole address for logs',
    'http://collector:4318/v1/logs',
    endpoint,
  ),
  otelProtocol: setting(
    'OTEL_EXPORTER_OTLP_PROTOCOL',
    'how OTLP is sent: http/protobuf or http/json',
    'http/json',
    protocol,
    { fallback: 'http/protobuf' },
  ),
  otelTracesProtocol: setting(
    'OTEL_EXPORTER_OTLP_TRACES_PROTOCOL',
    'the same for traces',
    'http/json',
    protocol,
  ),
  otelMetricsProtocol: setting(
    'OTEL_EXPORTER_OTLP_METRICS_PROTOCOL',
    'the same for metrics',
    'http/json',
    protocol,
  ),
  otelLogsProtocol: setting('OTEL_EXPORTER_OTLP_LOGS_PROTOCOL', 'the same for logs', 'http/json', protocol),
  otelHeaders: setting(
    'OTEL_EXPORTER_OTLP_HEADERS',
    'headers of each export, such as a credential of the receiver',
    'authorization=Bearer%20…',
    pairs,
    { secret: true },
  ),
  otelTracesHeaders: setting(
    'OTEL_EXPORTER_OTLP_TRACES_HEADERS',
    'further headers for traces',
    'x-team=agents',
    pairs,
    { secret: true },
  ),
  otelMetricsHeaders: setting(
    'OTEL_EXPORTER_OTLP_METRICS_HEADERS',
    'further headers for metrics',
    'x-team=agents',
    pairs,
    { secret: true },
  ),
  otelLogsHeaders: setting(
    'OTEL_EXPORTER_OTLP_LOGS_HEADERS',
    'further headers for logs',
    'x-team=agents',
    pairs,
    { secret: true },
  ),
  otelTimeoutMs: setting(
    'OTEL_EXPORTER_OTLP_TIMEOUT',
    'milliseconds that one export may take, with its retries',
    '5000',
    wholeNumber(1, 600_000),
    { fallback: '10000' },
  ),
  otelCompression: setting('OTEL_EXPORTER_OTLP_COMPRESSION', 'gzip or none', 'gzip', oneOf('gzip', 'none'), {
    fallback: 'none',
  }),
  otelCertificate: setting(
    'OTEL_EXPORTER_OTLP_CERTIFICATE',
    'file with the certificate authority of the receiver',
    '/etc/troupe/collector-ca.pem',
    text,
  ),
  otelClientCertificate: setting(
    'OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE',
    'file with the certificate that this node presents to the receiver',
    '/etc/troupe/collector-client.pem',
    text,
  ),
  otelClientKey: setting(
    'OTEL_EXPORTER_OTLP_CLIENT_KEY',
    'file with the private key of this certificate',
    '/etc/troupe/collector-client-key.pem',
    text,
  ),
  otelTracesExporter: setting(
    'OTEL_TRACES_EXPORTER',
    'otlp or none; otlp if a receiver is set',
    'none',
    exporter,
  ),
  otelMetricsExporter: setting(
    'OTEL_METRICS_EXPORTER',
    'otlp, prometheus (/metrics alone, which is always there) or none; otlp if a receiver is set',
    'prometheus',
    oneOf('otlp', 'prometheus', 'none'),
  ),
  otelLogsExporter: setting(
    'OTEL_LOGS_EXPORTER',
    'otlp or none; otlp if a receiver is set',
    'none',
    exporter,
  ),
  otelServiceName: setting('OTEL_SERVICE_NAME', 'name of this service in telemetry', 'troupe-eu', text),
  otelResourceAttributes: setting(
    'OTEL_RESOURCE_ATTRIBUTES',
    'further attributes of this service in telemetry',
    'deployment.environment.name=production',
    pairs,
  ),
  otelSampler: setting(
    'OTEL_TRACES_SAMPLER',
    `which traces are recorded: ${samplers.join(', ')}`,
    'parentbased_traceidratio',
    oneOf(...samplers),
    { fallback: 'parentbased_always_on' },
  ),
  otelSamplerArg: setting(
    'OTEL_TRACES_SAMPLER_ARG',
    'for …traceidratio: the share of traces that is recorded, 0 to 1',
    '0.1',
    share,
    { fallback: '1' },
  ),
  otelMetricIntervalMs: setting(
    'OTEL_METRIC_EXPORT_INTERVAL',
    'milliseconds between two exports of metrics',
    '15000',
    wholeNumber(1_000, 3_600_000),
    { fallback: '60000' },
  ),
} as const;
