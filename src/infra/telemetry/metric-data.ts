import { type HrTime, ValueType } from '@opentelemetry/api';
import {
  AggregationTemporality,
  type DataPoint,
  DataPointType,
  type Histogram,
  type MetricData,
} from '@opentelemetry/sdk-metrics';

interface Sample {
  /** The name after that of its family: `_bucket`, `_sum`, `_count`, or nothing. */
  readonly suffix: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

interface MetricFamily {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  readonly samples: Sample[];
}

interface Period {
  readonly startTime: HrTime;
  readonly endTime: HrTime;
}

/** The same figures as `/metrics` shows, under the same names: everything is counted in one place. */
export function metricData(text: string, period: Period): MetricData[] {
  return familiesIn(text).flatMap((family) => (family.samples.length === 0 ? [] : [dataOf(family, period)]));
}

const sampleLine = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/;
const labelPair = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g;

function familiesIn(text: string): readonly MetricFamily[] {
  const families: MetricFamily[] = [];
  const helps = new Map<string, string>();
  let family: MetricFamily | undefined;
  for (const line of text.split('\n')) {
    if (line.startsWith('# HELP ')) {
      const [name = '', ...help] = line.slice(7).split(' ');
      helps.set(name, help.join(' '));
    } else if (line.startsWith('# TYPE ')) {
      const [name = '', type = ''] = line.slice(7).split(' ');
      family = { name, type, help: helps.get(name) ?? '', samples: [] };
      families.push(family);
    } else {
      const [, name = '', labels = '', value = ''] = sampleLine.exec(line) ?? [];
      if (family === undefined || !name.startsWith(family.name)) continue;
      const suffix = name.slice(family.name.length);
      family.samples.push({ suffix, labels: labelsIn(labels), value: Number(value) });
    }
  }
  return families;
}

function labelsIn(text: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    [...text.matchAll(labelPair)].map(([, name, value = '']) => [name, unescaped(value)]),
  );
}

function unescaped(value: string): string {
  return value.replace(/\\(.)/g, (_, character: string) => (character === 'n' ? '\n' : character));
}

function dataOf(family: MetricFamily, period: Period): MetricData {
  const { name, help: description, type } = family;
  const base = {
    descriptor: { name, description, unit: unitOf(name), valueType: ValueType.DOUBLE },
    aggregationTemporality: AggregationTemporality.CUMULATIVE,
  };
  if (type === 'histogram') {
    return { ...base, dataPointType: DataPointType.HISTOGRAM, dataPoints: histograms(family, period) };
  }
  const dataPoints = family.samples
    .filter(({ value }) => Number.isFinite(value))
    .map(({ labels, value }) => ({ ...period, attributes: labels, value }));
  if (type === 'counter') return { ...base, dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints };
  return { ...base, dataPointType: DataPointType.GAUGE, dataPoints };
}

/** Prometheus' buckets include those below them; OTLP's do not. */
function histograms({ samples }: MetricFamily, period: Period): DataPoint<Histogram>[] {
  const series = new Map<
    string,
    { labels: Sample['labels']; sum: number; count: number; buckets: [number, number][] }
  >();
  for (const { suffix, labels: all, value } of samples) {
    const { le, ...labels } = all;
    const key = JSON.stringify(labels);
    const one = series.get(key) ?? { labels, sum: 0, count: 0, buckets: [] };
    series.set(key, one);
    if (suffix === '_sum') one.sum = value;
    else if (suffix === '_count') one.count = value;
    else if (suffix === '_bucket' && le !== undefined) one.buckets.push([boundOf(le), value]);
  }
  return [...series.values()].map(({ labels, sum, count, buckets }) => {
    const rising = buckets.toSorted(([one], [other]) => one - other);
    return {
      ...period,
      attributes: labels,
      value: {
        buckets: {
          boundaries: rising.map(([bound]) => bound).filter((bound) => Number.isFinite(bound)),
          counts: rising.map(([, below], index) => below - (rising[index - 1]?.[1] ?? 0)),
        },
        sum,
        count,
      },
    };
  });
}

function boundOf(le: string): number {
  return le === '+Inf' ? Number.POSITIVE_INFINITY : Number(le);
}

function unitOf(name: string): string {
  const bare = name.replace(/_total$/, '');
  if (bare.endsWith('_seconds')) return 's';
  if (bare.endsWith('_ms')) return 'ms';
  if (bare.endsWith('_bytes')) return 'By';
  return bare.endsWith('_usd') ? '{USD}' : '1';
}
