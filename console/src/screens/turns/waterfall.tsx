import { cx } from '../../ui/cx';
import { count, dollars } from '../../ui/numbers';
import { duration } from '../../ui/time';
import type { Span } from './spans';

const colours: Readonly<Record<Span['kind'], string>> = {
  turn: 'bg-line-strong',
  intent: 'bg-warn',
  model: 'bg-accent',
  tool: 'bg-good',
  attempt: 'bg-accent opacity-60',
  agent: 'bg-good opacity-60',
};

const isBad = (state: string): boolean => ['failed', 'timeout', 'orphaned', 'error'].includes(state);

/** The bars of a turn below each other, by when they began and how long they took. Each opens what it holds. */
export function Waterfall({
  spans,
  selected,
  select,
}: {
  readonly spans: readonly Span[];
  readonly selected: string;
  readonly select: (key: string) => void;
}) {
  const from = Math.min(...spans.map(({ fromMs }) => fromMs));
  const whole = Math.max(1, Math.max(...spans.map(({ toMs }) => toMs)) - from);
  return (
    <div className="overflow-hidden rounded-lg border border-line bg-surface">
      <div aria-hidden className="flex border-b border-line bg-sunken px-3 py-1.5 text-xs text-muted">
        <span className="w-44 shrink-0 sm:w-64">What</span>
        <span className="flex flex-1 justify-between">
          <span>0</span>
          <span className="max-sm:hidden">{duration(whole / 2)}</span>
          <span>{duration(whole)}</span>
        </span>
        <span className="w-20 shrink-0 text-right max-sm:hidden">Tokens</span>
        <span className="w-22 shrink-0 text-right max-sm:hidden">Cost</span>
      </div>
      <ol>
        {spans.map((span) => (
          <li key={span.key}>
            <button
              type="button"
              aria-pressed={span.key === selected}
              onClick={() => select(span.key)}
              className={cx(
                'flex h-9 w-full items-center border-b border-line px-3 text-left text-sm focus-visible:-outline-offset-2',
                span.key === selected ? 'bg-accent-soft' : 'hover:bg-hover',
              )}
            >
              <span
                className="w-44 shrink-0 truncate pr-2 sm:w-64"
                style={{ paddingLeft: `${span.depth * 0.9}rem` }}
                title={span.title}
              >
                {span.title}
                {isBad(span.state) && <span className="text-bad"> · {span.state}</span>}
              </span>
              <span className="relative h-4 flex-1">
                <span
                  className={cx(
                    'absolute inset-y-0 rounded-sm',
                    isBad(span.state) ? 'bg-bad' : colours[span.kind],
                  )}
                  style={{
                    left: `${((span.fromMs - from) / whole) * 100}%`,
                    width: `max(2px, ${(Math.max(0, span.toMs - span.fromMs) / whole) * 100}%)`,
                  }}
                />
                <span className="sr-only">
                  begins after {duration(span.fromMs - from)}, takes {duration(span.toMs - span.fromMs)}
                </span>
              </span>
              <span className="w-20 shrink-0 text-right text-xs text-muted tabular-nums max-sm:hidden">
                {span.tokens === undefined ? '' : count(span.tokens)}
              </span>
              <span className="w-22 shrink-0 text-right text-xs text-muted tabular-nums max-sm:hidden">
                {span.cost === undefined ? '' : dollars(span.cost)}
              </span>
            </button>
          </li>
        ))}
      </ol>
    </div>
  );
}
