import test from 'ava';
import { Registry } from 'prom-client';
import {
  BoundedNames,
  CounterFamily,
  HistogramFamily,
  TenantLabels,
} from '../../../../src/infra/diagnostics/index.js';

const periodMs = 600_000;

function labels(max: number) {
  let now = 0;
  const tenants = new TenantLabels({ time: { monotonicMs: () => now }, max });
  const left: string[] = [];
  tenants.onLeave((tenantId) => left.push(tenantId));
  return { tenants, left, pass: () => (now += periodMs) };
}

test('names beyond the bound share one label, and keep it', (t) => {
  const names = new BoundedNames(2);
  t.deepEqual(
    ['a', 'b', 'c', 'a', 'c'].map((name) => names.of(name)),
    ['a', 'b', 'other', 'a', 'other'],
  );
});

test('a busier tenant takes the place of an idle one, at the end of a period', (t) => {
  const { tenants, left, pass } = labels(2);
  tenants.of('idle');
  for (let call = 0; call < 10; call += 1) tenants.of('busy');
  for (let call = 0; call < 5; call += 1) t.is(tenants.of('new'), 'other');
  t.deepEqual(left, []);
  pass();
  t.is(tenants.of('new'), 'new');
  t.deepEqual(left, ['idle']);
  t.is(tenants.of('idle'), 'other');
  t.is(tenants.of('busy'), 'busy');
});

test('equally busy tenants do not change places', (t) => {
  const { tenants, left, pass } = labels(1);
  for (let call = 0; call < 4; call += 1) for (const name of ['one', 'two']) tenants.of(name);
  pass();
  t.is(tenants.of('two'), 'other');
  t.deepEqual(left, []);
});

test('no number of tenants makes more series than the setting says, and none of the counts is lost', async (t) => {
  const { tenants, pass } = labels(3);
  const registry = new Registry();
  const family = new CounterFamily(registry, 'calls_total', 'Calls', ['tenant', 'outcome']);
  tenants.onLeave((tenantId) => family.drop(tenantId));
  for (let round = 0; round < 4; round += 1) {
    for (let tenant = 0; tenant < 100; tenant += 1) {
      for (let call = 0; call <= (tenant * (round + 1)) % 7; call += 1)
        family.add(1, tenants.of(`t${tenant}`), 'ok');
    }
    pass();
    const series = (await registry.metrics()).split('\n').filter((line) => line.startsWith('calls_total{'));
    t.true(series.length <= 4, series.join('\n'));
    t.true(series.some((line) => line.includes('tenant="other"')));
  }
});

test('families show what prom-client would', async (t) => {
  const registry = new Registry();
  const counter = new CounterFamily(registry, 'things_total', 'Things', ['kind']);
  counter.add(2, 'a"b');
  counter.add(0.5, 'a"b');
  const alone = new CounterFamily(registry, 'alone_total', 'Without labels', []);
  t.regex(await registry.metrics(), /^alone_total 0$/m);
  alone.add(1);
  const histogram = new HistogramFamily(registry, 'took_seconds', 'Time', ['kind'], [1, 2]);
  for (const value of [0.5, 1, 1.5, 9]) histogram.observe(value, 'x');
  const text = await registry.metrics();
  t.true(text.includes('things_total{kind="a\\"b"} 2.5'), text);
  t.true(text.includes('alone_total 1'));
  t.true(text.includes('took_seconds_bucket{le="1",kind="x"} 2'), text);
  t.true(text.includes('took_seconds_bucket{le="2",kind="x"} 3'));
  t.true(text.includes('took_seconds_bucket{le="+Inf",kind="x"} 4'));
  t.true(text.includes('took_seconds_sum{kind="x"} 12'));
  t.true(text.includes('took_seconds_count{kind="x"} 4'));
});
