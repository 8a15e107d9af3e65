import { loadavg } from 'node:os';

export interface Row {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  /** The design's target: a minimum, or a maximum with `atMost`. */
  readonly aim?: number;
  readonly atMost?: boolean;
}

export interface Rate {
  readonly perSecond: number;
  /** Per second of this process's CPU time: the rate on an otherwise idle machine. */
  readonly perCpuSecond: number;
}

export type Call = () => Promise<unknown>;

export async function rateOf(count: number, run: (count: number) => Promise<void>): Promise<Rate> {
  const startedAt = performance.now();
  const cpuBefore = process.cpuUsage();
  await run(count);
  const cpu = process.cpuUsage(cpuBefore);
  return {
    perSecond: (count * 1_000) / (performance.now() - startedAt),
    perCpuSecond: (count * 1e6) / (cpu.user + cpu.system),
  };
}

/** Runs `inFlight` callers with one call in flight each for `seconds`. */
export async function rateFor(seconds: number, inFlight: number, call: Call): Promise<Rate> {
  let made = 0;
  const state = { isOver: false };
  const cpuBefore = process.cpuUsage();
  const startedAt = performance.now();
  setTimeout(() => (state.isOver = true), seconds * 1_000);
  const caller = async (): Promise<void> => {
    while (!state.isOver) {
      await call();
      made += 1;
    }
  };
  await Promise.all(Array.from({ length: inFlight }, caller));
  const cpu = process.cpuUsage(cpuBefore);
  return {
    perSecond: (made * 1_000) / (performance.now() - startedAt),
    perCpuSecond: (made * 1e6) / (cpu.user + cpu.system),
  };
}

/** Alternates the variants round by round, so that other load on the machine affects all of them. */
export async function ratesInTurn<Name extends string>(
  ways: Readonly<Record<Name, (seconds: number) => Promise<Rate>>>,
  rounds: number,
  seconds: number,
): Promise<Record<Name, Rate[]>> {
  const names = Object.keys(ways) as Name[];
  const rates = Object.fromEntries(names.map((name): [string, Rate[]] => [name, []])) as Record<Name, Rate[]>;
  for (let round = 0; round < rounds; round += 1) {
    for (const name of names) rates[name].push(await ways[name](seconds));
  }
  return rates;
}

/** The median of the ratios of each round. */
export function ratio(ours: readonly Rate[], theirs: readonly Rate[], of: keyof Rate = 'perSecond'): number {
  return median(ours.map((rate, round) => rate[of] / (theirs[round]?.[of] ?? Number.NaN)));
}

export function medianRate(rates: readonly Rate[], of: keyof Rate = 'perSecond'): number {
  return median(rates.map((rate) => rate[of]));
}

/** The median latency of sequential calls, in ms. */
export async function p50Of(calls: number, call: Call): Promise<number> {
  return (await latencyOf(calls, call)).p50Ms;
}

/** The latency of sequential calls. */
export async function latencyOf(
  calls: number,
  call: Call,
): Promise<{ readonly p50Ms: number; readonly p99Ms: number }> {
  const taken: number[] = [];
  for (let index = 0; index < calls; index += 1) {
    const startedAt = performance.now();
    await call();
    taken.push(performance.now() - startedAt);
  }
  return { p50Ms: percentile(taken, 0.5), p99Ms: percentile(taken, 0.99) };
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export function isMet({ value, aim, atMost }: Row): boolean | undefined {
  if (aim === undefined) return undefined;
  return atMost === true ? value <= aim : value >= aim;
}

export function print(title: string, rows: readonly Row[]): void {
  console.log(`\n${title} (machine load ${loadavg()[0]?.toFixed(1)})`);
  for (const row of rows) {
    const { name, value, unit, aim, atMost } = row;
    const shown = value >= 100 ? Math.round(value).toLocaleString('en') : value.toFixed(2);
    const goal =
      aim === undefined
        ? ''
        : `  aim ${atMost === true ? '≤' : '≥'} ${aim.toLocaleString('en')}  ${isMet(row) === true ? 'met' : 'MISSED'}`;
    console.log(`  ${name.padEnd(62)} ${shown.padStart(11)} ${unit.padEnd(9)}${goal}`);
  }
}
