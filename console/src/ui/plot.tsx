import 'uplot/dist/uPlot.min.css';
import { useEffect, useRef } from 'react';
import Plot from 'uplot';
import { useShownTheme } from './shown-theme';
import type { Series, TimeSeriesProps } from './time-series';

/** The colour of a name in the theme that is shown: a canvas knows no names. */
function colourOf(name: string): string {
  const probe = document.createElement('span');
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

const exact = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });

/** How moments are written below the picture: the time of day for up to two days, otherwise the day. */
function momentsOf(times: readonly number[]): (at: number) => string {
  const spanMs = (times.at(-1) ?? 0) - (times[0] ?? 0);
  const form = new Intl.DateTimeFormat(
    undefined,
    spanMs <= 2 * 86_400_000 ? { hour: '2-digit', minute: '2-digit' } : { day: 'numeric', month: 'short' },
  );
  return (at) => form.format(at);
}

/** Each series with its heights above the ones before it; the last one first. */
function stacked(series: readonly Series[]) {
  let below: readonly number[] = [];
  const all = series.map((one) => {
    const heights = one.values.map((value, at) => (value ?? 0) + (below[at] ?? 0));
    below = heights;
    return { ...one, heights };
  });
  return all.toReversed();
}

/** Drawn again with the colours of another theme. */
export function TimePlot(props: TimeSeriesProps) {
  return <Drawn key={useShownTheme()} {...props} />;
}

function Drawn({ label, times, series, height = 180, format = String, bars = false }: TimeSeriesProps) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const parent = box.current;
    if (parent === null) return undefined;
    // Bars stand on each other: the highest is drawn first, and the lower ones before it.
    const drawn = bars ? stacked(series) : series.map((one) => ({ ...one, heights: one.values }));
    const [muted, line] = [colourOf('--muted'), colourOf('--line')];
    const axis = { stroke: muted, font: '11px system-ui, sans-serif', ticks: { show: false } };
    const momentOf = momentsOf(times);
    // A bar stands half to the left and half to the right of its moment.
    const halfBar = bars && times.length > 1 ? ((times[1] ?? 0) - (times[0] ?? 0)) / 2_000 : 0;
    const plot = new Plot(
      {
        width: Math.max(parent.clientWidth, 100),
        height,
        padding: [10, 12, 0, 0],
        cursor: { drag: { x: false, y: false } },
        legend: { live: true },
        hooks: {
          // Without a moment below the pointer the legend names the series alone.
          setCursor: [
            ({ cursor: { idx } }) => parent.classList.toggle('has-moment', typeof idx === 'number'),
          ],
        },
        scales: {
          x: { range: (_, min, max) => [min - halfBar, max + halfBar] },
          y: { range: (_, __, max) => [0, max <= 0 ? 1 : max * 1.1] },
        },
        axes: [
          {
            ...axis,
            size: 28,
            // Twelve-hour times are wide.
            space: 84,
            grid: { show: false },
            values: (_, values) => values.map((at) => momentOf(at * 1_000)),
          },
          {
            ...axis,
            size: 56,
            grid: { stroke: line, width: 1 },
            values: (_, values) => values.map((value) => format(value)),
          },
        ],
        series: [
          { label: 'Time', value: (_, at) => (at === null ? '' : exact.format(at * 1_000)) },
          ...drawn.map(({ label: name, colour, values }) => ({
            label: name,
            stroke: colourOf(colour),
            fill: bars ? colourOf(colour) : undefined,
            width: bars ? 0 : 1.5,
            points: { show: false },
            ...(bars && { paths: Plot.paths.bars?.({ size: [0.7, 40] }) }),
            value: (_: Plot, __: number | null, ___: number, at: number | null) => {
              const value = at === null ? null : values[at];
              return value === null || value === undefined ? '' : format(value);
            },
          })),
        ],
      },
      [times.map((ms) => ms / 1_000), ...drawn.map(({ heights }) => [...heights])],
      parent,
    );
    const observer = new ResizeObserver(() =>
      plot.setSize({ width: Math.max(parent.clientWidth, 100), height }),
    );
    observer.observe(parent);
    return () => {
      observer.disconnect();
      plot.destroy();
    };
  }, [times, series, height, format, bars]);
  return (
    <div ref={box} role="img" aria-label={label} className="min-w-0 overflow-hidden [contain:inline-size]" />
  );
}
