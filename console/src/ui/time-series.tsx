import { lazy, Suspense } from 'react';
import { Loading } from './states';

const Plot = lazy(() => import('./plot').then(({ TimePlot }) => ({ default: TimePlot })));

export interface Series {
  readonly label: string;
  /** The name of a colour in `styles.css`, such as `--accent`. */
  readonly colour: string;
  readonly values: readonly (number | null)[];
}

export interface TimeSeriesProps {
  /** What is shown, for readers who do not see the picture. */
  readonly label: string;
  /** Moments in milliseconds, rising. */
  readonly times: readonly number[];
  readonly series: readonly Series[];
  readonly height?: number;
  readonly format?: (value: number) => string;
  /** Bars of several series stand on each other. */
  readonly bars?: boolean;
}

/** Values over time, with the values below the pointer. */
export function TimeSeries(props: TimeSeriesProps) {
  return (
    <Suspense fallback={<Loading label={props.label} />}>
      <Plot {...props} />
    </Suspense>
  );
}
