import test from 'ava';
import * as cluster from '../../cluster/index.js';
test('the cluster face can be imported', (t) => {
  t.truthy(cluster);
});
