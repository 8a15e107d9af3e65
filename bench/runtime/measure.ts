export interface Row {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  /** What the design asks for; `atMost` turns it round. */
  readonly aim?: number;
  readonly atMost?: boolean;
}

export interface Rate {
  readonly perSecond: number;
  /** By the processor time that this process used: what a machine with nothing else to do would reach. */
  readonly perCpuSecond: number;
}

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

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export function print(rows: readonly Row[]): void {
  for (const { name, value, unit, aim, atMost } of rows) {
    const shown = value >= 100 ? Math.round(value).toLocaleString('en') : value.toFixed(2);
    const isMet = aim === undefined || (atMost === true ? value <= aim : value >= aim);
    const goal =
      aim === undefined
        ? ''
        : `  aim ${atMost === true ? '≤' : '≥'} ${aim.toLocaleString('en')}  ${isMet ? 'met' : 'MISSED'}`;
    console.log(`${name.padEnd(58)} ${shown.padStart(12)} ${unit.padEnd(10)}${goal}`);
  }
}
