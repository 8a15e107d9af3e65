import test from 'ava';
import { Schedule } from '../../../src/automation/triggers/schedule/schedule.js';
import { firingsDue } from '../../../src/automation/sources/schedules.js';

const at = (text: string): number => Date.parse(text);

function schedule(cron: string, timezone = 'UTC'): Schedule {
  const read = Schedule.read({ cron, timezone }, at('2026-01-01T00:00:00Z'));
  if (!(read instanceof Schedule)) throw new Error(read.issue);
  return read;
}

test('firings noticed in time run, also several at once', (t) => {
  const nine = schedule('0 9 * * *');
  const due = (handled: string, now: string, missed: 'skip' | 'run_once' = 'skip') =>
    firingsDue(nine, { missed }, at(handled), at(now));
  t.deepEqual(due('2026-03-01T08:59:59Z', '2026-03-01T09:00:01Z'), [at('2026-03-01T09:00:00Z')]);
  t.deepEqual(due('2026-03-01T09:00:00Z', '2026-03-01T09:00:01Z'), [], 'handled before');
  const seconds = schedule('* * * * * *');
  t.is(
    firingsDue(seconds, { missed: 'skip' }, at('2026-03-01T09:00:00Z'), at('2026-03-01T09:00:05.5Z')).length,
    5,
  );
});

test('missed firings are skipped or made up once, up to a day back', (t) => {
  const hourly = schedule('0 * * * *');
  const due = (handled: string, missed: 'skip' | 'run_once') =>
    firingsDue(hourly, { missed }, at(handled), at('2026-03-05T09:30:00Z'));
  t.deepEqual(due('2026-03-05T05:00:00Z', 'skip'), []);
  t.deepEqual(due('2026-03-05T05:00:00Z', 'run_once'), [at('2026-03-05T09:00:00Z')]);
  const monthly = schedule('0 9 1 * *');
  t.deepEqual(
    firingsDue(monthly, { missed: 'run_once' }, at('2026-02-20T00:00:00Z'), at('2026-03-05T09:30:00Z')),
    [],
  );
});

test('each day has one run over both changes of summer time', (t) => {
  for (const [zone, from, days] of [
    ['Europe/Berlin', '2026-03-27T00:00:00Z', 4],
    ['Europe/Berlin', '2026-10-23T00:00:00Z', 4],
    ['America/New_York', '2026-03-06T00:00:00Z', 4],
    ['America/New_York', '2026-10-30T00:00:00Z', 4],
  ] as const) {
    const half = schedule('30 2 * * *', zone);
    let handledMs = at(from);
    let runs = 0;
    // As nodes look: every half minute, each look moving the schedule on.
    for (let nowMs = handledMs; nowMs < at(from) + days * 86_400_000; nowMs += 30_000) {
      runs += firingsDue(half, { missed: 'skip' }, handledMs, nowMs).length;
      handledMs = nowMs;
    }
    t.is(runs, days, `${zone} from ${from}`);
  }
});
