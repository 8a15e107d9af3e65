import test from 'ava';
import { readSettings, SettingsError } from '../../../../src/kernel/config/index.js';
import { exportPlan } from '../../../../src/infra/telemetry/export-plan.js';

function planned(environment: Readonly<Record<string, string>>): readonly string[] {
  return exportPlan(readSettings(environment)).map(
    ({ signal, url, protocol }) => `${signal} ${url} ${protocol}`,
  );
}

test('nothing is exported unless a receiver or an exporter is named', (t) => {
  t.deepEqual(planned({}), []);
  t.deepEqual(planned({ OTEL_SERVICE_NAME: 'x', OTEL_TRACES_SAMPLER: 'always_on' }), []);
  t.deepEqual(planned({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318', OTEL_SDK_DISABLED: 'true' }), []);
});

test('one receiver takes all three; an address of its own is used as it is written', (t) => {
  t.deepEqual(
    planned({
      OTEL_EXPORTER_OTLP_ENDPOINT: 'https://c:4318/otlp/',
      OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: 'http://logs/take',
      OTEL_EXPORTER_OTLP_LOGS_PROTOCOL: 'http/json',
    }),
    [
      'traces https://c:4318/otlp/v1/traces http/protobuf',
      'metrics https://c:4318/otlp/v1/metrics http/protobuf',
      'logs http://logs/take http/json',
    ],
  );
});

test('an exporter without a receiver goes to the standard address, and none turns one off', (t) => {
  t.deepEqual(planned({ OTEL_TRACES_EXPORTER: 'otlp' }), [
    'traces http://localhost:4318/v1/traces http/protobuf',
  ]);
  t.deepEqual(
    planned({
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c',
      OTEL_TRACES_EXPORTER: 'none',
      OTEL_METRICS_EXPORTER: 'prometheus',
    }),
    ['logs http://c/v1/logs http/protobuf'],
  );
});

test('headers are read as OpenTelemetry writes them, those of a signal beside the common ones', (t) => {
  const [traces, metrics] = exportPlan(
    readSettings({
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c',
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20a%3Db, x-team=one',
      OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'x-team=two',
    }),
  );
  t.deepEqual(traces?.headers, { authorization: 'Bearer a=b', 'x-team': 'two' });
  t.deepEqual(metrics?.headers, { authorization: 'Bearer a=b', 'x-team': 'one' });
});

test('values that cannot work are refused by name, without a secret', (t) => {
  const refused = (variable: string, value: string): string =>
    t.throws(() => readSettings({ [variable]: value }), { instanceOf: SettingsError })?.message ?? '';
  t.regex(
    refused('OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc'),
    /OTEL_EXPORTER_OTLP_PROTOCOL must be one of http\/protobuf/,
  );
  t.regex(
    refused('OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4318'),
    /OTEL_EXPORTER_OTLP_ENDPOINT must be a URL/,
  );
  t.regex(refused('OTEL_TRACES_SAMPLER_ARG', '2'), /number from 0 to 1/);
  t.false(refused('OTEL_EXPORTER_OTLP_HEADERS', 'sekret-without-a-name').includes('sekret'));
});
