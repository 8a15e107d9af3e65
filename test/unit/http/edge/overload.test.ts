import test from 'ava';
import { systemTime } from '../../../../cluster/index.js';
import { nodeLimits } from '../../../../src/app/main.js';
import { OverloadGuard } from '../../../../src/http/edge/overload.js';

function guardAfter(...latenessMs: readonly number[]): OverloadGuard {
  const guard = new OverloadGuard(nodeLimits.lagMsMax, systemTime);
  for (const late of latenessMs) guard.record(late);
  return guard;
}

test('a repeatedly late loop refuses requests, and accepts them again when on time', (t) => {
  const guard = guardAfter(600, 600, 600, 600, 600);
  t.true(guard.shedding);
  for (let sample = 0; sample < 3; sample += 1) guard.record(0);
  t.false(guard.shedding);
});

test('one pause refuses nobody, however long it was', (t) => {
  t.false(guardAfter(0, 0, 0, 0, 60_000).shedding);
  t.false(guardAfter(60_000).shedding);
  t.true(guardAfter(0, 0, 5_000, 5_000, 5_000).shedding);
});
