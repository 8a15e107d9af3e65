import test from 'ava';
import { connectTimeoutOf } from '../../../../src/infra/storage/index.js';

test("the address of a database may say how long connecting may take, in libpq's seconds", (t) => {
  const of = (query: string): number =>
    connectTimeoutOf(`postgresql://user@db.example/troupe${query}`, 5_000);
  t.is(of(''), 5_000);
  t.is(of('?connect_timeout=60'), 60_000);
  t.is(of('?application_name=troupe&connect_timeout=2'), 2_000);
  t.is(of('?connect_timeout=0'), 5_000, 'for libpq no limit, which a node never has');
  t.is(of('?connect_timeout=soon'), 5_000);
});
