// When schedules fire, above all on the days on which the clocks are changed.
import test, { type ExecutionContext } from 'ava';
import fc from 'fast-check';
import { Schedule } from '../../../../src/automation/triggers/schedule/schedule.js';

const minuteMs = 60_000;
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

function schedule(cron: string, timezone = 'UTC'): Schedule {
  const read = Schedule.read({ cron, timezone }, Date.parse('2026-01-01T00:00:00Z'));
  if (!(read instanceof Schedule)) throw new Error(`${read.field} ${read.issue}`);
  return read;
}

const at = (text: string): number => Date.parse(text);
const texts = (moments: readonly number[]): string[] =>
  moments.map((moment) => new Date(moment).toISOString().replace('.000Z', 'Z'));

/** The firings of a day of the zone's own calendar, midnight itself and not the next. */
function ofDay(cron: string, zone: string, from: string, to: string): readonly number[] {
  return schedule(cron, zone).between(at(from) - 1, at(to) - 1, 100_000);
}

const berlin = {
  spring: ['2026-03-28T23:00:00Z', '2026-03-29T22:00:00Z'],
  autumn: ['2026-10-24T22:00:00Z', '2026-10-25T23:00:00Z'],
} as const;
const newYork = {
  spring: ['2026-03-08T05:00:00Z', '2026-03-09T04:00:00Z'],
  autumn: ['2026-11-01T04:00:00Z', '2026-11-02T05:00:00Z'],
} as const;

test('a line fires at its times in its zone', (t) => {
  const next = (cron: string, zone: string, after: string) =>
    texts(schedule(cron, zone).between(at(after), at(after) + 9 * dayMs, 3));
  t.deepEqual(next('30 8 * * 1-5', 'UTC', '2026-01-02T08:30:00Z'), [
    '2026-01-05T08:30:00Z',
    '2026-01-06T08:30:00Z',
    '2026-01-07T08:30:00Z',
  ]);
  t.deepEqual(next('30 8 * * MON', 'Asia/Kolkata', '2026-01-02T00:00:00Z'), ['2026-01-05T03:00:00Z']);
  t.deepEqual(next('15 0 12 * * *', 'America/New_York', '2026-07-01T00:00:00Z'), [
    '2026-07-01T16:00:15Z',
    '2026-07-02T16:00:15Z',
    '2026-07-03T16:00:15Z',
  ]);
  t.deepEqual(next('0 0 1,2 * 1', 'UTC', '2026-01-01T00:00:00Z'), [
    '2026-01-02T00:00:00Z',
    '2026-01-05T00:00:00Z',
  ]);
});

test('a firing is after the given instant, to the millisecond', (t) => {
  const each = schedule('* * * * * *');
  t.is(each.next(at('2026-01-01T00:00:00.000Z')), at('2026-01-01T00:00:01Z'));
  t.is(each.next(at('2026-01-01T00:00:00.999Z')), at('2026-01-01T00:00:01Z'));
  t.is(each.last(0, at('2026-01-01T00:00:00.999Z')), at('2026-01-01T00:00:00Z'));
  t.is(each.last(0, at('2026-01-01T00:00:00.000Z')), at('2026-01-01T00:00:00Z'));
  t.is(each.last(at('2026-01-01T00:00:00Z'), at('2026-01-01T00:00:00.999Z')), undefined);
});

test('an hour skipped by summer time fires once, at the next valid minute', (t) => {
  const inBerlin = (cron: string) => texts(ofDay(cron, 'Europe/Berlin', ...berlin.spring));
  t.deepEqual(inBerlin('30 2 * * *'), ['2026-03-29T01:00:00Z']);
  t.deepEqual(inBerlin('0 2 * * *'), ['2026-03-29T01:00:00Z']);
  t.deepEqual(inBerlin('*/20 2 * * *'), ['2026-03-29T01:00:00Z']);
  t.deepEqual(inBerlin('30 2,3 * * *'), ['2026-03-29T01:00:00Z', '2026-03-29T01:30:00Z']);
  t.deepEqual(inBerlin('0 2,3 * * *'), ['2026-03-29T01:00:00Z'], 'together with what fires there anyway');
  t.deepEqual(inBerlin('59 59 1 * * *'), ['2026-03-29T00:59:59Z']);
  const inNewYork = (cron: string) => texts(ofDay(cron, 'America/New_York', ...newYork.spring));
  t.deepEqual(inNewYork('30 2 * * *'), ['2026-03-08T07:00:00Z']);
  t.deepEqual(inNewYork('*/15 2 * * *'), ['2026-03-08T07:00:00Z']);
});

test('an hour that occurs twice fires once, the first time', (t) => {
  const inBerlin = (cron: string) => texts(ofDay(cron, 'Europe/Berlin', ...berlin.autumn));
  t.deepEqual(inBerlin('30 2 * * *'), ['2026-10-25T00:30:00Z']);
  t.deepEqual(inBerlin('*/30 2 * * *'), ['2026-10-25T00:00:00Z', '2026-10-25T00:30:00Z']);
  t.deepEqual(inBerlin('0 3 * * *'), ['2026-10-25T02:00:00Z']);
  const inNewYork = (cron: string) => texts(ofDay(cron, 'America/New_York', ...newYork.autumn));
  t.deepEqual(inNewYork('30 1 * * *'), ['2026-11-01T05:30:00Z']);
  t.deepEqual(inNewYork('0 2 * * *'), ['2026-11-01T07:00:00Z']);
  const second = schedule('30 2 * * *', 'Europe/Berlin');
  t.is(second.next(at('2026-10-25T01:10:00Z')), at('2026-10-26T01:30:00Z'), 'asked in the second round');
  t.is(second.last(0, at('2026-10-25T01:10:00Z')), at('2026-10-25T00:30:00Z'));
});

test('the days of both changes have exact numbers of firings in both zones', (t) => {
  const expected: [string, number, number, number][] = [
    // line, an ordinary day, the day in spring, the day in autumn
    ['0 * * * *', 24, 23, 24],
    ['*/15 * * * *', 96, 92, 96],
    ['* * * * *', 1_440, 1_380, 1_440],
    ['*/30 2 * * *', 2, 1, 2],
    ['*/30 1 * * *', 2, 2, 2],
    ['0 0 * * *', 1, 1, 1],
    ['*/30 * * * * *', 2_880, 2_760, 2_880],
  ];
  const counts = (zone: string, days: readonly (readonly [string, string])[], cron: string) =>
    days.map(([from, to]) => ofDay(cron, zone, from, to).length);
  for (const [cron, ordinary, spring, autumn] of expected) {
    const wanted = [ordinary, spring, autumn];
    const inBerlin = [
      ['2026-05-31T22:00:00Z', '2026-06-01T22:00:00Z'],
      berlin.spring,
      berlin.autumn,
    ] as const;
    const inNewYork = [
      ['2026-06-01T04:00:00Z', '2026-06-02T04:00:00Z'],
      newYork.spring,
      newYork.autumn,
    ] as const;
    t.deepEqual(counts('Europe/Berlin', inBerlin, cron), wanted, cron);
    t.deepEqual(counts('America/New_York', inNewYork, cron), wanted, cron);
  }
});

test('a year has one firing per day, whatever the clocks do', (t) => {
  for (const zone of [
    'Europe/Berlin',
    'America/New_York',
    'Australia/Lord_Howe',
    'Antarctica/Troll',
    'UTC',
  ]) {
    for (const cron of ['30 2 * * *', '15 1 * * *', '45 23 * * *', '0 0 * * *']) {
      const year = schedule(cron, zone).between(
        at('2026-01-02T12:00:00Z'),
        at('2027-01-02T12:00:00Z'),
        1_000,
      );
      t.is(year.length, 365, `${cron} in ${zone}`);
    }
  }
});

test('a day that a country skips fires once, at the start of the next one', (t) => {
  // Samoa went from the 29th to the 31st of December 2011.
  const noon = schedule('0 12 * * *', 'Pacific/Apia');
  t.deepEqual(texts(noon.between(at('2011-12-29T00:00:00Z'), at('2012-01-01T00:00:00Z'), 10)), [
    '2011-12-29T22:00:00Z',
    '2011-12-30T10:00:00Z',
    '2011-12-30T22:00:00Z',
    '2011-12-31T22:00:00Z',
  ]);
});

test('firings between two instants are the same in one query and in several, up to the limit', (t) => {
  const lines = schedule('*/20 1-3 * * *', 'Europe/Berlin');
  for (const [from, to] of [berlin.spring, berlin.autumn]) {
    const whole = lines.between(at(from), at(to), 1_000);
    const pieces: number[] = [];
    for (let piece = at(from); piece < at(to); piece += 7 * minuteMs) {
      pieces.push(...lines.between(piece, Math.min(piece + 7 * minuteMs, at(to)), 1_000));
    }
    t.deepEqual(pieces, whole);
    t.deepEqual(lines.between(at(from), at(to), 2), whole.slice(0, 2));
    t.deepEqual(lines.between(at(from), at(to), 0), []);
  }
});

test('at most one missed run is made up, from the last day, and none by default', (t) => {
  const hourly = schedule('0 * * * *');
  const now = at('2026-06-10T12:30:00Z');
  t.is(hourly.missed('skip', now - 5 * hourMs, now), undefined);
  t.is(hourly.missed('run_once', now - 5 * hourMs, now), at('2026-06-10T12:00:00Z'));
  t.is(hourly.missed('run_once', at('2026-06-10T12:00:00Z'), now), undefined, 'handled already');
  const weekly = schedule('0 12 * * 2');
  t.is(weekly.missed('run_once', now - 30 * dayMs, at('2026-06-10T11:59:00Z')), at('2026-06-09T12:00:00Z'));
  t.is(weekly.missed('run_once', now - 30 * dayMs, now), undefined, 'more than a day ago');
});

test('invalid lines and zones are refused with the field and the reason', (t) => {
  const cases: [string, string, 'cron' | 'timezone', RegExp][] = [
    ['', 'UTC', 'cron', /five fields, or six/],
    ['* * * *', 'UTC', 'cron', /five fields, or six/],
    ['0 0 0 1 1 * 2030', 'UTC', 'cron', /five fields, or six/],
    ['@daily', 'UTC', 'cron', /five fields, or six/],
    ['2026-05-05T00:00:00', 'UTC', 'cron', /five fields, or six/],
    ['60 * * * *', 'UTC', 'cron', /"60" does not fit the minutes/],
    ['* 24 * * *', 'UTC', 'cron', /"24" does not fit the hours/],
    ['* * 32 * *', 'UTC', 'cron', /"32" does not fit the day of the month/],
    ['* * 0 * *', 'UTC', 'cron', /"0" does not fit the day of the month/],
    ['* * * 13 *', 'UTC', 'cron', /"13" does not fit the month/],
    ['* * * * 8', 'UTC', 'cron', /"8" does not fit the day of the week/],
    ['60 * * * * *', 'UTC', 'cron', /"60" does not fit the seconds/],
    ['*/0 * * * *', 'UTC', 'cron', /"\*\/0" does not fit the minutes/],
    ['5-1 * * * *', 'UTC', 'cron', /minutes/],
    ['a * * * *', 'UTC', 'cron', /minutes/],
    ['0 0 30 2 *', 'UTC', 'cron', /would never fire/],
    ['0 0 31 2,4,6,9,11 *', 'UTC', 'cron', /would never fire/],
    ['* * * * *', 'Mars/Olympus', 'timezone', /IANA/],
    ['* * * * *', '+02:00', 'timezone', /IANA/],
    ['* * * * *', '', 'timezone', /IANA/],
    ['* * * * *', '../etc/localtime', 'timezone', /IANA/],
  ];
  for (const [cron, timezone, field, issue] of cases) {
    const read = Schedule.read({ cron, timezone }, at('2026-01-01T00:00:00Z'));
    if (read instanceof Schedule) {
      t.fail(`${cron} ${timezone} was taken`);
      continue;
    }
    t.is(read.field, field, cron);
    t.regex(read.issue, issue);
  }
});

test('the 29th of February fires in leap years, also around 2100, which is not one', (t) => {
  const leap = schedule('0 0 29 2 *');
  t.deepEqual(texts(leap.between(at('2092-01-01T00:00:00Z'), at('2105-01-01T00:00:00Z'), 5)), [
    '2092-02-29T00:00:00Z',
    '2096-02-29T00:00:00Z',
    '2104-02-29T00:00:00Z',
  ]);
});

const swedish = new Map<string, Intl.DateTimeFormat>();

/** The wall clock of the zone, by another query than the product's: Swedish dates have the form of ISO. */
function wallMs(instantMs: number, zone: string): number {
  let format = swedish.get(zone);
  if (format === undefined) {
    format = new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'medium' });
    swedish.set(zone, format);
  }
  return Date.parse(`${format.format(instantMs).replace(' ', 'T')}Z`);
}

interface Line {
  readonly minutes: readonly number[];
  readonly hours: readonly number[];
  readonly weekdays: readonly number[];
}

const textOf = ({ minutes, hours, weekdays }: Line): string =>
  `${minutes.length === 0 ? '*' : minutes.join(',')} ${hours.length === 0 ? '*' : hours.join(',')} * * ${
    weekdays.length === 0 ? '*' : weekdays.join(',')
  }`;

function matches({ minutes, hours, weekdays }: Line, wall: number): boolean {
  const date = new Date(wall);
  const among = (all: readonly number[], one: number) => all.length === 0 || all.includes(one);
  return (
    among(minutes, date.getUTCMinutes()) &&
    among(hours, date.getUTCHours()) &&
    among(weekdays, date.getUTCDay())
  );
}

/**
 * Searches minute by minute: a time fires when the clock shows it, or has skipped it, for the first time. No formula, no
 * search, nothing of the product.
 */
function walked(line: Line, zone: string, fromMs: number, toMs: number): number[] {
  const found: number[] = [];
  let reached = -Infinity;
  // It starts a day early, to know the times that the clock has already shown.
  for (let moment = fromMs - dayMs; moment <= toMs; moment += minuteMs) {
    const shown = wallMs(moment, zone);
    const first = reached === -Infinity ? shown : reached + minuteMs;
    let fires = false;
    for (let wall = first; wall <= shown; wall += minuteMs) fires ||= matches(line, wall);
    reached = Math.max(reached, shown);
    if (fires && moment > fromMs) found.push(moment);
  }
  return found;
}

const changes: readonly (readonly [string, string])[] = [
  ['Europe/Berlin', '2026-03-29T01:00:00Z'],
  ['Europe/Berlin', '2026-10-25T01:00:00Z'],
  ['America/New_York', '2026-03-08T07:00:00Z'],
  ['America/New_York', '2026-11-01T06:00:00Z'],
  ['Australia/Lord_Howe', '2026-10-03T15:30:00Z'],
  ['Australia/Lord_Howe', '2026-04-04T15:00:00Z'],
];

const some = (max: number) => fc.uniqueArray(fc.integer({ min: 0, max }), { maxLength: 4 });
const anyLine = fc.record({
  minutes: some(59),
  hours: fc.oneof(
    fc.constant([]),
    fc.uniqueArray(fc.integer({ min: 0, max: 4 }), { maxLength: 4 }),
    some(23),
  ),
  weekdays: fc.oneof(fc.constant([]), some(6)),
});

test('around every clock change firings equal those of a minute-by-minute search', (t) => {
  let firings = 0;
  fc.assert(
    fc.property(
      anyLine,
      fc.constantFrom(...changes),
      fc.integer({ min: 0, max: 6 * 60 }),
      fc.integer({ min: 1, max: 8 * 60 }),
      (line, [zone, change], before, length) => {
        const from = at(change) - before * minuteMs;
        const to = from + length * minuteMs;
        const wanted = walked(line, zone, from, to);
        firings += wanted.length;
        const found = schedule(textOf(line), zone).between(from, to, 10_000);
        t.deepEqual(texts(found), texts(wanted), `${textOf(line)} in ${zone} after ${texts([from])[0]}`);
        const last = schedule(textOf(line), zone).last(from, to);
        t.is(last, wanted.at(-1), `the last of ${textOf(line)} in ${zone}`);
      },
    ),
    { numRuns: 150 },
  );
  t.true(firings > 100, 'the walks found something to compare with');
});

test('a next firing lies after the instant, and nothing lies between the two', (t: ExecutionContext) => {
  fc.assert(
    fc.property(
      anyLine,
      fc.constantFrom(...changes),
      fc.integer({ min: -hourMs, max: hourMs }),
      (line, [zone, change], offset) => {
        const whole = schedule(textOf(line), zone);
        const from = at(change) + offset;
        const next = whole.next(from);
        if (next === undefined) return t.fail('every such line fires again');
        t.true(next > from);
        t.is(whole.last(from, next - 1), undefined);
        t.is(whole.last(from, next), next);
      },
    ),
    { numRuns: 200 },
  );
});
