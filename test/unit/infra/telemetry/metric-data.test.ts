import test from 'ava';
import { metricData } from '../../../../src/infra/telemetry/metric-data.js';

const text = `# HELP things_total Things, by kind
# TYPE things_total counter
things_total{kind="a \\"b\\", \\\\c\\nd"} 3
things_total{kind="e"} 1.5e3
# HELP here Now
# TYPE here gauge
here -2
# HELP took_seconds Time
# TYPE took_seconds histogram
took_seconds_bucket{kind="x",le="0.5"} 1
took_seconds_bucket{kind="x",le="2"} 4
took_seconds_bucket{kind="x",le="+Inf"} 5
took_seconds_sum{kind="x"} 9.5
took_seconds_count{kind="x"} 5
# HELP empty_total Nothing yet
# TYPE empty_total counter
`;

test('counters, gauges and histograms become the same figures of OTLP', (t) => {
  const [things, here, took, ...others] = metricData(text, { startTime: [1, 0], endTime: [2, 0] });
  t.is(others.length, 0);
  t.like(things, {
    descriptor: { name: 'things_total', description: 'Things, by kind', unit: '1' },
    isMonotonic: true,
  });
  t.deepEqual(things?.dataPoints, [
    { startTime: [1, 0], endTime: [2, 0], attributes: { kind: 'a "b", \\c\nd' }, value: 3 },
    { startTime: [1, 0], endTime: [2, 0], attributes: { kind: 'e' }, value: 1_500 },
  ]);
  t.is(here?.dataPoints[0]?.value, -2);
  t.is(took?.descriptor.unit, 's');
  t.deepEqual(took?.dataPoints[0]?.value, {
    buckets: { boundaries: [0.5, 2], counts: [1, 3, 1] },
    sum: 9.5,
    count: 5,
  });
});
