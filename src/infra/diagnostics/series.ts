import type { Registry } from 'prom-client';

/** One family of series, by their labels. Its subclasses have the interface that prom-client's registry expects. */
abstract class Family<Series> {
  readonly name: string;
  readonly help: string;
  readonly aggregator = 'sum';
  readonly #labelNames: readonly string[];
  readonly #make: () => Series;
  /** By the first label, the second and the third: joining them into one key took four times as long. */
  readonly #series = new Map<string, Map<string, Map<string, Series>>>();
  readonly #first: Series | undefined;

  constructor(
    registry: Registry,
    name: string,
    help: string,
    labelNames: readonly string[],
    make: () => Series,
  ) {
    this.name = name;
    this.help = help;
    this.#labelNames = labelNames;
    this.#make = make;
    // Without labels there is one series, and it is there from the start: a rate needs a first value.
    this.#first = labelNames.length === 0 ? this.series('', '', '') : undefined;
    registry.registerMetric(this as never);
  }

  protected series(first: string, second: string, third: string): Series {
    if (this.#first !== undefined) return this.#first;
    let bySecond = this.#series.get(first);
    if (bySecond === undefined) this.#series.set(first, (bySecond = new Map()));
    let byThird = bySecond.get(second);
    if (byThird === undefined) bySecond.set(second, (byThird = new Map()));
    let series = byThird.get(third);
    if (series === undefined) byThird.set(third, (series = this.#make()));
    return series;
  }

  protected labelled<Row>(read: (series: Series, labels: Record<string, string>) => readonly Row[]): Row[] {
    const rows: Row[][] = [];
    for (const [first, bySecond] of this.#series)
      for (const [second, byThird] of bySecond)
        for (const [third, series] of byThird) {
          const values = [first, second, third];
          const labels = this.#labelNames.map((name, index) => [name, values[index] ?? '']);
          rows.push([...read(series, Object.fromEntries(labels) as Record<string, string>)]);
        }
    return rows.flat();
  }

  /** Forgets the series with this first label. */
  drop(first: string): void {
    this.#series.delete(first);
  }

  reset(): void {
    this.#series.clear();
  }
}

/**
 * A counter for hot paths with up to three labels: one look-up and one addition, while that of prom-client hashes its
 * labels by name each time. Callers bound the values of the labels.
 */
export class CounterFamily extends Family<{ value: number }> {
  readonly type = 'counter';

  constructor(registry: Registry, name: string, help: string, labelNames: readonly string[]) {
    super(registry, name, help, labelNames, () => ({ value: 0 }));
  }

  add(value: number, first = '', second = '', third = ''): void {
    this.series(first, second, third).value += value;
  }

  async get(): Promise<object> {
    const values = this.labelled(({ value }, labels) => [{ value, labels }]);
    return { name: this.name, help: this.help, type: this.type, aggregator: this.aggregator, values };
  }
}

interface Buckets {
  readonly counts: Float64Array;
  sum: number;
  count: number;
}

/** A histogram with the same cost. */
export class HistogramFamily extends Family<Buckets> {
  readonly type = 'histogram';
  readonly #bounds: readonly number[];

  /** `bounds`: the upper ends of the buckets, rising. */
  constructor(
    registry: Registry,
    name: string,
    help: string,
    labelNames: readonly string[],
    bounds: readonly number[],
  ) {
    super(registry, name, help, labelNames, () => ({
      counts: new Float64Array(bounds.length + 1),
      sum: 0,
      count: 0,
    }));
    this.#bounds = bounds;
  }

  observe(value: number, first = '', second = '', third = ''): void {
    const series = this.series(first, second, third);
    series.sum += value;
    series.count += 1;
    let index = 0;
    while (index < this.#bounds.length && value > (this.#bounds[index] ?? 0)) index += 1;
    series.counts[index] = (series.counts[index] ?? 0) + 1;
  }

  async get(): Promise<object> {
    const values = this.labelled((series, labels) => this.#rows(series, labels));
    return { name: this.name, help: this.help, type: this.type, aggregator: this.aggregator, values };
  }

  #rows({ counts, sum, count }: Buckets, labels: Record<string, string>): object[] {
    let below = 0;
    const rows: object[] = [];
    for (const [index, inside] of counts.entries()) {
      below += inside;
      const le = this.#bounds[index] ?? '+Inf';
      rows.push({ metricName: `${this.name}_bucket`, value: below, labels: { le, ...labels } });
    }
    rows.push({ metricName: `${this.name}_sum`, value: sum, labels });
    rows.push({ metricName: `${this.name}_count`, value: count, labels });
    return rows;
  }
}
