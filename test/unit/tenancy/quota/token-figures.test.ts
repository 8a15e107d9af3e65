// What a month's ledger makes of settlements that the store's figure may hold already.
import test from 'ava';
import { decided, ledgerOfTokens, wish } from '../../../support/builders/token-ledgers.js';

test('a row that was read before its settlement arrived neither refuses a waiting call nor hides its room', async (t) => {
  const { book, state, time } = ledgerOfTokens({ used: 500 });
  const wide = (id: string, tokens: number) => wish(id, { tokens, monthlyLimit: 1_000 });
  await book.reserve(wide('a', 350));
  state.used = 850;
  time.advance(1_500);
  const waiting = book.reserve(wide('b', 140));
  t.is(await decided(waiting), 'waits', '850 used, and 350 of the same call reserved');
  book.settle('a', 350, 350);
  t.is(await decided(waiting), 'reserved', '850 of 1,000 are used, not 1,200');
  state.used = 855;
  time.advance(1_500);
  t.is(await book.used(), 855, 'the row of an attempt of which nothing is known here');
  book.settle('unknown', 0, 5);
  t.is(await decided(book.reserve(wide('c', 1))), 'reserved', '995, not 1,000');
});

test('a month that only the sum in memory calls used up is read before work is refused', async (t) => {
  const { book, state } = ledgerOfTokens({ used: 90 });
  await book.used();
  book.settle('a', 5, 10);
  t.is(await book.usedOf(100), 90);
  t.is(state.reads, 2);
  book.settle('b', 5, 5);
  t.is(await book.usedOf(100), 95);
  t.is(state.reads, 2, 'below the limit the sum is enough');
  state.used = 100;
  book.settle('c', 5, 5);
  t.is(await book.usedOf(100), 100);
});

test('the figure of a month that is over refuses no call that waits since then', async (t) => {
  const { book, state, time } = ledgerOfTokens({ at: '2026-11-30T23:59:55Z', used: 90 });
  await book.reserve(wish('a', { tokens: 20 }));
  const waiting = book.reserve(wish('b'));
  t.is(await decided(waiting), 'waits');
  state.used = 110;
  time.advance(1_000);
  t.is(await book.used(), 110);
  time.advance(5_000);
  state.used = 0;
  book.settle('a', 20, 20);
  t.is(await decided(waiting), 'reserved');
});

test('a waiting call whose figure could not be read gets it with the next sweep', async (t) => {
  const { book, state } = ledgerOfTokens({ used: 90 });
  await book.reserve(wish('a'));
  const waiting = book.reserve(wish('b'));
  t.is(await decided(waiting), 'waits');
  state.storeIsAway = true;
  book.settle('a', 40, 10);
  t.is(await decided(waiting), 'waits');
  state.storeIsAway = false;
  book.sweep(() => false);
  t.is(await decided(waiting), 'reserved', '90 of 100');
});

test('settlements while calls wait are read one after another', async (t) => {
  const { book, state } = ledgerOfTokens({ used: 90 });
  await book.reserve(wish('a'));
  const waiting = book.reserve(wish('b'));
  t.is(await decided(waiting), 'waits');
  const { reads } = state;
  for (let settled = 0; settled < 50; settled += 1) book.settle(`other-${settled}`, 0, 1);
  t.is(await decided(waiting), 'waits');
  t.is(state.reads, reads + 2, 'one that began with the first, and one after all of them');
});
