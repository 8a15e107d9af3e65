import {
  type DurableTimers,
  type Measure,
  measuresOf,
  type NodeDescription,
  type RecoveryCounts,
} from '../../../cluster/index.js';

/** The figures of one source of unfinished work or of timers. */
export interface SourceReading {
  readonly source: string;
  readonly recovery?: RecoveryCounts;
  readonly timers?: Pick<DurableTimers, 'waiting' | 'fired' | 'failures' | 'lateness'>;
}

/** The runtime metrics of this node for `/metrics`, in the Prometheus format; empty before the start. */
export function measuresText(
  node: NodeDescription | undefined,
  sources: readonly SourceReading[] = [],
): string {
  if (node === undefined) return '';
  const families = new Map<string, Measure[]>();
  for (const measure of [...measuresOf(node), ...sources.flatMap(sourceMeasures)]) {
    const name = nameOf(measure);
    const family = families.get(name);
    if (family === undefined) families.set(name, [measure]);
    else family.push(measure);
  }
  return [...families].map(([name, family]) => familyText(name, family)).join('');
}

function sourceMeasures({ source, recovery, timers }: SourceReading): Measure[] {
  const labels = { source };
  const counter = (name: string, meaning: string, value: number): Measure => ({
    type: 'counter',
    name,
    meaning,
    labels,
    value,
  });
  const failed = 'failed reads of a source of unfinished work or timers; each is retried';
  const failures = recovery?.failures ?? timers?.failures ?? 0;
  return [
    counter('source_failures', failed, failures),
    ...(recovery === undefined
      ? []
      : [
          counter('recovery_looks', 'polls for unfinished work', recovery.looks),
          counter('recovery_taken_up', 'unfinished work taken up', recovery.takenUp),
          counter('recovery_given_up', 'unfinished work given up after too many attempts', recovery.givenUp),
        ]),
    ...(timers === undefined
      ? []
      : [
          counter('timers_fired', 'timers fired on this node', timers.fired),
          {
            type: 'histogram' as const,
            name: 'timer_lateness_ms',
            meaning: 'time from when a timer was due to when it fired',
            labels,
            reading: timers.lateness.read(),
          },
          {
            type: 'gauge' as const,
            name: 'timers_waiting',
            meaning: 'timers in memory',
            labels,
            value: timers.waiting,
          },
        ]),
  ];
}

function nameOf({ name, type }: Measure): string {
  return `troupe_runtime_${name}${type === 'counter' ? '_total' : ''}`;
}

function familyText(name: string, family: readonly Measure[]): string {
  const [first] = family;
  if (first === undefined) return '';
  const lines = family.flatMap((measure) => samplesOf(name, measure));
  return `# HELP ${name} ${first.meaning}\n# TYPE ${name} ${first.type}\n${lines.join('\n')}\n`;
}

function samplesOf(name: string, measure: Measure): readonly string[] {
  const { labels } = measure;
  if (measure.type !== 'histogram') return [`${name}${labelsText(labels)} ${measure.value}`];
  const { buckets, count, sumMs } = measure.reading;
  return [
    ...buckets.map((one) => bucketText(name, labels, String(one.atMostMs), one.count)),
    bucketText(name, labels, '+Inf', count),
    `${name}_sum${labelsText(labels)} ${sumMs}`,
    `${name}_count${labelsText(labels)} ${count}`,
  ];
}

function bucketText(
  name: string,
  labels: Readonly<Record<string, string>>,
  atMost: string,
  count: number,
): string {
  return `${name}_bucket${labelsText({ ...labels, le: atMost })} ${count}`;
}

function labelsText(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(([label, value]) => `${label}="${escaped(value)}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

function escaped(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}
