import test from 'ava';
import { ClusterConfigError, clusterConfig, clusterSettings } from '../../../cluster/index.js';

test('the defaults satisfy every relation between settings', (t) => {
  const config = clusterConfig();
  t.is(config.leaseMs, clusterSettings.leaseMs.value);
  t.true(Object.isFrozen(config));
});

test('a setting that violates a relation is refused with its name', (t) => {
  t.throws(() => clusterConfig({ leaseActMs: 5_000 }), {
    instanceOf: ClusterConfigError,
    message: /leaseActMs < leaseMs/,
  });
  t.throws(() => clusterConfig({ watchdogMs: 4_000 }), { message: /watchdogMs/ });
});

test('a setting that is not a positive number is refused', (t) => {
  t.throws(() => clusterConfig({ hopsMax: 0 }), { message: /hopsMax must be a finite number above 0/ });
  t.throws(() => clusterConfig({ hopsMax: Number.NaN }), { message: /hopsMax/ });
});
