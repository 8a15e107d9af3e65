import test from 'ava';
import { RecentEndings } from '../../../../src/http/edge/recent-endings.js';

const here = '192.0.2.1';

test('an owner that ended after the number is told, one that ended before or never is not', (t) => {
  const endings = new RecentEndings();
  endings.note('early', {});
  const number = endings.last;
  t.is(endings.since(number, ['early'], here), undefined);
  const late = { refusal: undefined };
  endings.note('late', late);
  t.is(endings.since(number, ['early', 'late'], here), late);
  t.is(endings.since(number, ['early', 'other'], here), undefined);
  t.is(endings.since(endings.last, ['late'], here), undefined);
  endings.note('early', {});
  t.deepEqual(endings.since(number, ['early'], here), {}, 'it ended again');
});

test('the endings that are kept are bounded, and whoever is forgotten counts as ended', (t) => {
  const endings = new RecentEndings(3);
  const number = endings.last;
  for (const owner of ['a', 'b', 'c']) endings.note(owner, {});
  t.is(endings.since(number, ['none of them'], here), undefined);
  endings.note('d', {});
  t.deepEqual(endings.since(number, ['none of them'], here), {});
  t.is(endings.since(number + 1, ['none of them'], here), undefined, 'only one is forgotten');
  t.is(endings.since(number, [], here), undefined, 'a caller without a credential');
});

test('when anything may have ended, everybody has who asks from before', (t) => {
  const endings = new RecentEndings();
  const number = endings.last;
  endings.noteAll();
  t.deepEqual(endings.since(number, ['anybody'], here), {});
  t.is(endings.since(endings.last, ['anybody'], here), undefined);
});

test('an ending of some addresses spares the others', (t) => {
  const endings = new RecentEndings();
  const number = endings.last;
  endings.note('key', { spares: (address) => address === here });
  t.is(endings.since(number, ['key'], here), undefined);
  t.not(endings.since(number, ['key'], '198.51.100.1'), undefined);
});
