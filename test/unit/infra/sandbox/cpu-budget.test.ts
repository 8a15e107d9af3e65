import test from 'ava';
import { CpuBudget } from '../../../../src/infra/sandbox/cpu-budget.js';

test('a tenant that used its time waits until enough of it is a minute old, and no other tenant does', (t) => {
  const budget = new CpuBudget(1_000);
  budget.charge('a', 600, 10_200);
  t.is(budget.waitMs('a', 10_300), 0);
  budget.charge('a', 300, 20_500);
  budget.charge('a', 400, 30_000);
  t.is(budget.waitMs('a', 31_000), 39_000, 'the 600 ms of second 10 are forgotten at second 70');
  t.is(budget.waitMs('b', 31_000), 0);
  t.is(budget.waitMs('a', 69_999), 1);
  t.is(budget.waitMs('a', 70_000), 0);
  t.is(budget.waitMs('a', 200_000), 0);
});

test('a single task over the budget is waited out in full', (t) => {
  const budget = new CpuBudget(1_000);
  budget.charge('a', 100, 1_000);
  budget.charge('a', 5_000, 30_000);
  t.is(budget.waitMs('a', 31_000), 59_000);
});

test('idle tenants are dropped, and returning ones start afresh', (t) => {
  const budget = new CpuBudget(10);
  for (let tenant = 0; tenant < 1_000; tenant += 1) budget.charge(`tenant ${tenant}`, 20, 1_000);
  t.is(budget.size, 1_000);
  budget.charge('another', 1, 200_000);
  t.is(budget.size, 1);
  t.is(budget.waitMs('tenant 1', 200_000), 0);
});
