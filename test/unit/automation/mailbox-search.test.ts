// Which mails are news, in windows that keep each answer of the server short.
import test from 'ava';
import {
  mailsAfter,
  mailsSince,
  type Searching,
  searchWindow,
} from '../../../src/automation/mail/mailbox-search.js';

/** As a server answers: `*` is its highest number, and ranges may be written backwards. */
function mailbox(uids: readonly number[], asked: string[] = []): Searching {
  const highest = Math.max(0, ...uids);
  return async ({ uid }) => {
    asked.push(String(uid));
    const ranges = String(uid)
      .split(',')
      .map((range) => {
        const [from = '', to = from] = range.split(':');
        return [from, to].map((end) => (end === '*' ? highest : Number(end))).toSorted((a, b) => a - b);
      });
    return uids.filter((one) => ranges.some(([from = 0, to = 0]) => one >= from && one <= to));
  };
}

test('one query finds the mails after the last one, and nothing if there are none', async (t) => {
  const asked: string[] = [];
  const search = mailbox([3, 7, 8, 9], asked);
  t.deepEqual(await mailsAfter(search, 7), { uids: [8, 9], polledUpTo: 7, more: false });
  t.deepEqual(await mailsAfter(search, 9), { uids: [], polledUpTo: 9, more: false });
  t.deepEqual(await mailsAfter(mailbox([]), 9), { uids: [], polledUpTo: 9, more: false });
  t.is(asked.length, 2);
});

test('no answer is longer than a window, however many mails exist', async (t) => {
  const many = Array.from({ length: 100_000 }, (_, index) => index + 1);
  let longest = 0;
  const inner = mailbox(many);
  const search: Searching = async (query) => {
    const found = await inner(query);
    longest = Math.max(longest, found.join(' ').length);
    return found;
  };
  const first = await mailsAfter(search, 0);
  t.is(first.uids.length, searchWindow);
  t.true(first.more);
  t.is((await mailsSince(search, new Date())).length, 100_000);
  t.true(longest < 60_000, `${longest} characters`);
});

test('gaps in the numbers are crossed, a very large one over several polls', async (t) => {
  const near = mailbox([5, 90_000]);
  t.deepEqual((await mailsAfter(near, 5)).uids, [90_000]);
  const far = mailbox([5, 10_000_000]);
  let last = 5;
  for (let look = 0; look < 60; look += 1) {
    const { uids, polledUpTo, more } = await mailsAfter(far, last);
    if (uids.length > 0) return t.deepEqual(uids, [10_000_000]);
    t.true(more);
    t.true(polledUpTo > last);
    last = polledUpTo;
  }
  return t.fail('the mail was not found');
});
