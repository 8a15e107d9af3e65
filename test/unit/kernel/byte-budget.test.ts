import test from 'ava';
import fc from 'fast-check';
import { ByteBudget, type ByteHolder } from '../../../src/kernel/byte-budget.js';

const limits = { all: 100, each: 60 };

interface Named extends ByteHolder {
  readonly share: string;
  isEvicted: boolean;
}

function holderOf(budget: ByteBudget, share: string): Named {
  const holder: Named = {
    share,
    isEvicted: false,
    evict: () => {
      holder.isEvicted = true;
      budget.free(share, holder);
    },
  };
  return holder;
}

test('a share has its limit, and freed bytes are there for others', (t) => {
  const budget = new ByteBudget(limits);
  const [one, other] = [holderOf(budget, 'a'), holderOf(budget, 'a')];
  t.true(budget.hold('a', one, 40));
  t.false(budget.hold('a', other, 21));
  t.true(budget.hold('a', other, 20));
  budget.free('a', one);
  budget.free('a', one);
  t.deepEqual([budget.bytes, budget.bytesOf('a'), budget.bytesOf('b')], [20, 20, 0]);
});

test('at the limit of all, the largest holder of the largest share gives way to a smaller share', (t) => {
  const budget = new ByteBudget(limits);
  const [small, large, others] = [holderOf(budget, 'a'), holderOf(budget, 'a'), holderOf(budget, 'b')];
  budget.hold('a', small, 10);
  budget.hold('a', large, 45);
  budget.hold('b', others, 40);
  t.true(budget.hold('c', holderOf(budget, 'c'), 20));
  t.deepEqual([small.isEvicted, large.isEvicted, others.isEvicted], [false, true, false]);
  t.is(budget.bytes, 70);
});

test('the largest share gets no more, and what is kept is not evicted', (t) => {
  const budget = new ByteBudget(limits);
  const [kept, others] = [holderOf(budget, 'a'), holderOf(budget, 'b')];
  budget.hold('a', kept, 50);
  budget.hold('b', others, 45);
  t.false(budget.hold('a', kept, 6), 'it would be the largest itself');
  budget.keep('a', kept);
  t.true(budget.hold('c', holderOf(budget, 'c'), 10));
  t.deepEqual([kept.isEvicted, others.isEvicted], [false, true]);
  budget.free('a', kept);
  t.is(budget.bytes, 10);
});

test('under any schedule no limit is passed, and the bytes are those of the holders that are left', (t) => {
  const step = fc.record({
    act: fc.constantFrom('hold', 'hold', 'hold', 'keep', 'free'),
    share: fc.constantFrom('a', 'b', 'c'),
    place: fc.nat(2),
    bytes: fc.integer({ min: 1, max: 40 }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const budget = new ByteBudget(limits);
      const held = new Map<Named, number>();
      const holders = new Map<string, Named>();
      for (const { act, share, place, bytes } of steps) {
        const name = `${share}${place}`;
        let holder = holders.get(name);
        if (holder === undefined || holder.isEvicted) holders.set(name, (holder = holderOf(budget, share)));
        if (act === 'keep') budget.keep(share, holder);
        else if (act === 'free') {
          budget.free(share, holder);
          held.delete(holder);
        } else if (budget.hold(share, holder, bytes)) held.set(holder, (held.get(holder) ?? 0) + bytes);
        for (const one of held.keys()) if (one.isEvicted) held.delete(one);
        const sum = (of: string | undefined): number =>
          [...held].reduce(
            (all, [one, size]) => (of === undefined || one.share === of ? all + size : all),
            0,
          );
        if (budget.bytes !== sum(undefined) || budget.bytes > limits.all) return false;
        for (const of of ['a', 'b', 'c']) {
          if (budget.bytesOf(of) !== sum(of) || sum(of) > limits.each) return false;
        }
      }
      return true;
    }),
  );
  t.pass();
});
