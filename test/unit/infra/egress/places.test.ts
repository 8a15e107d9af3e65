import test from 'ava';
import { Places, placesMax } from '../../../../src/infra/egress/places.js';

test('a share waits for its own requests to an origin only, and idle origins are forgotten', async (t) => {
  const places = new Places();
  const ends: (() => void)[] = [];
  let running = 0;
  const use = (origin: string, share: string): Promise<void> =>
    places.use(origin, share, async () => {
      running += 1;
      await new Promise<void>((end) => ends.push(end));
      running -= 1;
    });
  const all = Array.from({ length: placesMax.each + 1 }, () => use('https://one.test', 'a'));
  t.is(running, placesMax.each);
  all.push(use('https://one.test', 'b'), use('https://two.test', 'a'));
  t.deepEqual([running, places.size], [placesMax.each + 2, 2]);
  while (places.size > 0) {
    for (const end of ends.splice(0)) end();
    await Promise.resolve();
  }
  await Promise.all(all);
  t.is(running, 0);
});
