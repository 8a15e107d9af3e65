import type { Series } from '../../ui/time-series';
import { everyDay, type Range, type Usage } from './figures';

export interface DayCharts {
  readonly times: readonly number[];
  readonly cost: readonly Series[];
  readonly tokens: readonly Series[];
}

const colours = ['--part-1', '--part-2', '--part-3', '--part-4', '--part-5', '--part-6'] as const;

/** Below this share of a cent a rest is an error of floating point. */
const nothing = 1e-9;

/**
 * Cost and tokens of each day, in the parts of a grouping: the costliest groups, and what is left. Without a grouping the
 * sum alone.
 */
export function dayCharts(whole: Usage, parts: Usage | undefined, range: Range): DayCharts {
  const sums = everyDay(whole.groups, range);
  const times = sums.map(({ at }) => at);
  const shown = (parts?.groups ?? []).filter(({ days }) => days !== undefined).slice(0, colours.length);
  if (shown.length === 0) {
    const one = (label: string, values: readonly number[]) => [{ label, colour: '--accent', values }];
    return {
      times,
      cost: one(
        'Cost',
        sums.map(({ cost }) => cost),
      ),
      tokens: one(
        'Tokens',
        sums.map(({ tokens }) => tokens),
      ),
    };
  }
  const ofGroups = shown.map(({ days = [] }) =>
    everyDay(
      days.map(({ day, ...figures }) => ({ key: day, ...figures })),
      range,
    ),
  );
  const seriesOf = (figure: 'cost' | 'tokens'): readonly Series[] => {
    const series = shown.map(({ key, label }, index) => ({
      label: label || key || 'none',
      colour: colours[index] ?? '--line-strong',
      values: ofGroups[index]?.map((day) => day[figure]) ?? [],
    }));
    const rest = sums.map((day, at) =>
      Math.max(0, day[figure] - series.reduce((sum, { values }) => sum + (values[at] ?? 0), 0)),
    );
    return rest.some((value) => value > nothing)
      ? [...series, { label: 'Others', colour: '--line-strong', values: rest }]
      : series;
  };
  return { times, cost: seriesOf('cost'), tokens: seriesOf('tokens') };
}
