// Reservations of a month's tokens: only the arithmetic, with the test's clock and store.
import test from 'ava';
import fc from 'fast-check';
import { decided, ledgerOfTokens, minuteMs, wish } from '../../../support/builders/token-ledgers.js';

test('calls are admitted while used and reserved tokens are below the limit; the next waits for one to end', async (t) => {
  const { book } = ledgerOfTokens();
  const all = ['a', 'b', 'c', 'd'].map((id) => book.reserve(wish(id)));
  t.deepEqual(await Promise.all(all.map(decided)), ['reserved', 'reserved', 'reserved', 'waits']);
  t.is(book.reservedTokens, 120, 'the one that crosses is let in whole');
  book.settle('a', 40, 15);
  book.settle('a', 40, 25);
  t.is(await decided(book.reserve(wish('e'))), 'waits', 'used 25 and reserved 80 leave nothing');
  book.settle('b', 40, 5);
  t.deepEqual(await all[3], { outcome: 'reserved' }, 'in the order of their coming');
});

test('a waiting call is refused once the month is really used up', async (t) => {
  const { book, state } = ledgerOfTokens({ used: 90 });
  const [first, second] = [book.reserve(wish('a')), book.reserve(wish('b'))];
  t.is(await decided(first), 'reserved');
  t.is(await decided(second), 'waits');
  state.used = 130;
  book.settle('a', 40, 40);
  t.deepEqual(await second, { outcome: 'used up', used: 130 });
  t.deepEqual(await book.reserve(wish('c')), { outcome: 'used up', used: 130 });
});

test('a call that waits too long gets a busy error and reserves nothing', async (t) => {
  const { book, time } = ledgerOfTokens();
  for (const id of ['a', 'b', 'c']) t.is(await decided(book.reserve(wish(id))), 'reserved');
  const waiting = book.reserve(wish('d'));
  t.is(await decided(waiting), 'waits');
  time.advance(10_000);
  t.deepEqual(await waiting, { outcome: 'busy' });
  t.is(book.reservedTokens, 120);
});

test('a call that waits when the owner ends gets a busy error at once', async (t) => {
  const { book, time } = ledgerOfTokens();
  for (const id of ['a', 'b', 'c']) t.is(await decided(book.reserve(wish(id))), 'reserved');
  const waiting = book.reserve(wish('d'));
  t.is(await decided(waiting), 'waits');
  book.close();
  t.is(await decided(waiting), 'busy');
  t.is(time.pending, 0);
});

test('a handed-over reservation that was settled before it arrived does not come back', async (t) => {
  const { book } = ledgerOfTokens();
  book.settle('settled', 40, 12);
  const row = { process: 'node-1', tokens: 40, withinMs: minuteMs };
  book.takeOver(
    [
      { attemptId: 'settled', ...row },
      { attemptId: 'open', ...row },
    ],
    true,
  );
  t.deepEqual(
    book.leftovers().map(({ attemptId }) => attemptId),
    ['open'],
  );
  t.is(book.reservedTokens, 40);
});

test('already admitted work is admitted whatever is used', async (t) => {
  const { book } = ledgerOfTokens({ used: 500 });
  t.is(await decided(book.reserve(wish('a', { alreadyAdmitted: true }))), 'reserved');
});

test('a repeated settlement counts once, and a repeated request reserves once', async (t) => {
  const { book } = ledgerOfTokens();
  t.is(await decided(book.reserve(wish('a'))), 'reserved');
  t.is(await decided(book.reserve(wish('a'))), 'reserved');
  t.is(book.reservedTokens, 40);
  for (let repeat = 0; repeat < 3; repeat += 1) book.settle('a', 40, 7);
  t.is(book.reservedTokens, 0);
  t.is(await book.used(), 7);
});

test('a reservation ends at its deadline or with its process, and counts until its row is surely closed', async (t) => {
  const { book, time } = ledgerOfTokens();
  await book.reserve(wish('a', { withinMs: minuteMs }));
  await book.reserve(wish('b', { withinMs: 10 * minuteMs, process: 'node-2' }));
  book.sweep((process) => process === 'node-3');
  t.is(book.leftovers().length, 2);
  time.advance(minuteMs);
  book.sweep(() => false);
  t.deepEqual(
    book.leftovers().map(({ attemptId }) => attemptId),
    ['b'],
  );
  t.is(book.reservedTokens, 80, 'whoever finds the open row closes it with the estimate in a while');
  book.sweep((process) => process === 'node-2');
  t.deepEqual(book.leftovers(), []);
  time.advance(minuteMs);
  book.sweep(() => false);
  t.is(book.reservedTokens, 0);
});

test("the bound of a dead owner's reservations counts until its time, less settled tokens, or until the exact figure", async (t) => {
  const { book, time } = ledgerOfTokens({ inherited: { tokens: 95, forMs: minuteMs } });
  t.is(book.reservedTokens, 95);
  t.is(await decided(book.reserve(wish('a', { tokens: 10 }))), 'reserved');
  t.is(await decided(book.reserve(wish('b', { tokens: 10 }))), 'waits');
  book.settle('an attempt that nobody here knows', 50, 3);
  t.is(book.reservedTokens, 65, '45 of the bound, and two of 10');
  time.advance(minuteMs);
  t.is(book.reservedTokens, 20);

  const told = ledgerOfTokens({ inherited: { tokens: 1_000, forMs: minuteMs } }).book;
  told.takeOver([{ attemptId: 'x', process: 'node-1', tokens: 30, withinMs: minuteMs }], true);
  t.is(told.reservedTokens, 30);
  told.settle('x', 30, 12);
  t.is(told.reservedTokens, 0);
});

test('open rows replace the bound once every attempt must have its row', async (t) => {
  const { book, time, state } = ledgerOfTokens({ inherited: { tokens: 95, forMs: 10 * minuteMs } });
  t.is(await decided(book.reserve(wish('a', { tokens: 10 }))), 'reserved');
  t.is(state.held, 95 + 17, 'an owner after this one is left the bound too');
  const waiting = book.reserve(wish('b', { tokens: 10 }));
  t.is(await decided(waiting), 'waits');
  t.false(book.mayRecover);
  const row = { process: 'node-2', tokens: 20, withinMs: minuteMs };
  book.takeOver([{ attemptId: 'of another one told', ...row }], false);
  t.false(book.knowsAll, 'who told it did not know all');
  time.advance(30_000);
  t.true(book.mayRecover);
  book.takeOver(
    [
      { attemptId: 'x', ...row },
      { attemptId: 'a', ...row },
    ],
    true,
  );
  t.is(book.reservedTokens, 20 + 20 + 10, 'what is known already is not counted again');
  t.deepEqual(await waiting, { outcome: 'busy' }, 'it had waited for longer than its patience');
  t.true(book.knowsAll);
  t.false(book.mayRecover);
});

test('a repeated request for an attempt joins the first, and reserves nothing once it has ended', async (t) => {
  const { book } = ledgerOfTokens();
  for (const id of ['a', 'b', 'c']) await book.reserve(wish(id));
  const [waiting, again] = [book.reserve(wish('d')), book.reserve(wish('d'))];
  t.is(await decided(again), 'waits');
  book.settle('a', 40, 0);
  t.deepEqual(await Promise.all([waiting, again]), [{ outcome: 'reserved' }, { outcome: 'reserved' }]);
  t.is(book.reservedTokens, 120, 'it is reserved once');
  for (const id of ['b', 'c', 'd']) book.settle(id, 40, 0);
  t.is(book.reservedTokens, 0);
  t.is(await decided(book.reserve(wish('d'))), 'reserved');
  t.is(book.reservedTokens, 0, 'a late repeat of one that is settled');
});

test('a month summed in memory is read again before a refusal', async (t) => {
  const { book, state } = ledgerOfTokens({ used: 90 });
  await book.reserve(wish('a', { tokens: 5 }));
  // Its row was closed and read with the others before its settlement arrived.
  book.settle('a', 5, 10);
  state.used = 95;
  t.is(await decided(book.reserve(wish('b', { tokens: 5 }))), 'reserved');
  state.used = 100;
  book.settle('b', 5, 5);
  t.deepEqual(await book.reserve(wish('c')), { outcome: 'used up', used: 100 });
});

test('nothing is reserved beyond the committed hold: an unavailable store admits nobody', async (t) => {
  const { book, state } = ledgerOfTokens();
  await book.used();
  state.storeIsAway = true;
  await t.throwsAsync(async () => book.reserve(wish('a')), { message: 'the store is away' });
  t.is(book.reservedTokens, 0);
  state.storeIsAway = false;
  t.is(await decided(book.reserve(wish('a'))), 'reserved');
  t.true(state.held >= 40);
});

test('a hold covers many reservations, so that most need no wait', async (t) => {
  const { book, state } = ledgerOfTokens();
  const large = { monthlyLimit: 1_000_000, tokens: 100 };
  await book.reserve(wish('first', large));
  for (let call = 0; call < 150; call += 1) {
    t.false(book.reserve(wish(`call-${call}`, large)) instanceof Promise);
  }
  t.is(state.holds, 1);
  await Promise.all(
    Array.from({ length: 100 }, async (_, call) => book.reserve(wish(`more-${call}`, large))),
  );
  t.is(state.holds, 2, 'those that come at once wait for one commit');
});

test('a hold lasts as long as each reservation that it covers', async (t) => {
  const { book, state, time } = ledgerOfTokens();
  const small = { monthlyLimit: 1_000_000, tokens: 1 };
  await book.reserve(wish('short', small));
  t.true(state.held > 2, 'it has room for more tokens');
  await book.reserve(wish('long', { ...small, withinMs: 60 * minuteMs }));
  t.is(state.holds, 2);
  t.true(state.heldUntilMs >= time.monotonicMs() + 60 * minuteMs);
  time.advance(80 * minuteMs);
  await book.reserve(wish('later', small));
  t.true(state.heldUntilMs >= time.monotonicMs() + minuteMs, 'a hold that has run out is renewed');
});

test('a call that comes when there is room waits behind those that came before it', async (t) => {
  const { book, time } = ledgerOfTokens({ inherited: { tokens: 100, forMs: 5_000 } });
  const before = book.reserve(wish('before', { tokens: 100 }));
  t.is(await decided(before), 'waits');
  // The end of the bound makes room, which the waiting call gets with the next sweep.
  time.advance(5_000);
  const after = book.reserve(wish('after', { tokens: 100 }));
  t.is(await decided(after), 'waits');
  book.sweep(() => false);
  t.is(await decided(before), 'reserved');
  t.is(await decided(after), 'waits');
});

test('a new month starts with nothing used', async (t) => {
  const { book, state, time } = ledgerOfTokens({ used: 100 });
  t.deepEqual(await book.reserve(wish('a')), { outcome: 'used up', used: 100 });
  state.used = 0;
  time.advanceTo('2026-12-01T00:00:00Z');
  t.is(await decided(book.reserve(wish('b'))), 'reserved');
});

test('the figure of a month that ended a moment ago refuses nothing', async (t) => {
  const { book, state, time } = ledgerOfTokens({ at: '2026-11-30T23:59:59.900Z', used: 100 });
  t.deepEqual(await book.reserve(wish('a')), { outcome: 'used up', used: 100 });
  state.used = 0;
  time.advance(200);
  t.is(await decided(book.reserve(wish('b'))), 'reserved');
  t.is(state.reads, 2, 'the figure of the old month was fresh');
});

test('under any schedule no call exceeds the limit, holds cover reservations, and nothing is left over', async (t) => {
  const step = fc.oneof(
    fc.record({ kind: fc.constant('reserve' as const), tokens: fc.integer({ min: 1, max: 60 }) }),
    fc.record({
      kind: fc.constant('settle' as const),
      which: fc.nat(),
      share: fc.double({ min: 0, max: 1.2, noNaN: true }),
    }),
    fc.record({ kind: fc.constant('wait' as const), forMs: fc.integer({ min: 1, max: 30_000 }) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 80 }), async (steps) => {
      const { book, state, time } = ledgerOfTokens();
      const open = new Map<string, number>();
      let largest = 0;
      let isSound = true;
      for (const [number, one] of steps.entries()) {
        if (one.kind === 'reserve') {
          const attemptId = `attempt-${number}`;
          const standing = state.used + book.reservedTokens;
          const asked = book.reserve(wish(attemptId, { tokens: one.tokens, monthlyLimit: 200 }));
          void Promise.resolve(asked).then(({ outcome }) => {
            if (outcome !== 'reserved') return;
            open.set(attemptId, one.tokens);
            largest = Math.max(largest, one.tokens);
          });
          if ((await decided(asked)) === 'reserved') isSound &&= standing < 200;
        } else if (one.kind === 'settle') {
          const [attemptId, tokens] = [...open][one.which % Math.max(1, open.size)] ?? [];
          if (attemptId === undefined || tokens === undefined) continue;
          const used = Math.floor(tokens * one.share);
          open.delete(attemptId);
          state.used += used;
          book.settle(attemptId, tokens, used);
        } else {
          time.advance(one.forMs);
          book.sweep(() => false);
        }
        await decided(new Promise(() => undefined));
        const kept = book.leftovers().reduce((sum, { tokens }) => sum + tokens, 0);
        isSound &&= kept <= state.held && book.reservedTokens < 200 + largest + 60;
      }
      time.advance(3 * minuteMs);
      book.sweep(() => false);
      time.advance(2 * minuteMs);
      book.sweep(() => false);
      return isSound && book.reservedTokens === 0 && book.isIdle;
    }),
    { numRuns: 60 },
  );
  t.pass();
});
