import { Failure, Loading } from '../../ui/states';
import { count, dollars, shortCount } from '../../ui/numbers';
import { duration } from '../../ui/time';
import { type Figures, useFigures } from './figures';

interface Figure {
  readonly title: string;
  readonly text: (figures: Figures) => string;
  /** Of turns, which are counted for the last sixty minutes; the others are of calls. */
  readonly ofTurns?: true;
  /** Said in colour where it is not zero. */
  readonly isBad?: (figures: Figures) => boolean;
}

const shown: readonly Figure[] = [
  { title: 'Requests', text: ({ requests }) => shortCount(requests) },
  { title: 'Turns', ofTurns: true, text: ({ turns }) => shortCount(turns) },
  { title: 'Tokens', text: ({ tokens }) => shortCount(tokens) },
  { title: 'Cost', text: ({ cost }) => dollars(cost) },
  { title: 'Failed requests', text: ({ errors }) => count(errors), isBad: ({ errors }) => errors > 0 },
  {
    title: 'Failed turns',
    ofTurns: true,
    text: ({ failedTurns }) => count(failedTurns),
    isBad: ({ failedTurns }) => failedTurns > 0,
  },
  { title: 'Latency p50', text: ({ p50Ms }) => duration(p50Ms) },
  { title: 'Latency p95', text: ({ p95Ms }) => duration(p95Ms) },
];

const timeOfDay = new Intl.DateTimeFormat(undefined, { timeStyle: 'short' });

/** The last hour, large, with the last day below. */
export function FiguresTable() {
  const hour = useFigures(1);
  const day = useFigures(24);
  if (hour.isError && hour.data === undefined)
    return <Failure error={hour.error} retry={() => void hour.refetch()} />;
  if (hour.data === undefined) return <Loading label="Figures" />;
  const { data } = hour;
  return (
    <dl className="grid grid-cols-2 gap-px overflow-hidden rounded-lg border border-line bg-line md:grid-cols-4">
      {shown.map(({ title, text, ofTurns, isBad }) => (
        <div key={title} className="bg-surface p-4">
          <dt className="text-xs text-muted">{title}</dt>
          <dd className={`text-xl font-semibold tabular-nums ${isBad?.(data) === true ? 'text-bad' : ''}`}>
            {text(data)}
            <span className="text-xs font-normal whitespace-nowrap text-muted">
              {' '}
              {ofTurns === true ? 'in the last hour' : `since ${timeOfDay.format(data.callsSince)}`}
            </span>
          </dd>
          <dd className="text-xs text-muted tabular-nums">
            {day.data === undefined ? '…' : text(day.data)} in 24 h
          </dd>
        </div>
      ))}
    </dl>
  );
}
