import test from 'ava';
import { triggerAnswersOf } from '../../../src/automation/management/responses.js';
import { nextRunsOf } from '../../../src/automation/triggers/schedule/next-runs.js';
import type { TriggerRow } from '../../../src/automation/triggers/triggers.store.js';
import { ManualTime } from '../../support/clocks/manual-time.js';

const config = { cron: '0 9 * * *', timezone: 'Europe/Berlin', message: 'x' };

test('next runs stay correct while time passes', (t) => {
  const runs = (at: string) => nextRunsOf(config, Date.parse(at));
  const first = ['2026-03-28T08:00:00.000Z', '2026-03-29T07:00:00.000Z', '2026-03-30T07:00:00.000Z'];
  t.deepEqual(runs('2026-03-27T12:00:00Z'), first);
  t.deepEqual(runs('2026-03-28T07:59:59Z'), first);
  t.deepEqual(runs('2026-03-28T08:00:00Z'), [...first.slice(1), '2026-03-31T07:00:00.000Z']);
});

test('a long list of schedules yields to other work and returns all in order', async (t) => {
  // Far from the day on which summer time skips an hour, whose runs come at another minute.
  const time = new ManualTime('2026-11-23T10:00:00Z');
  const at = new Date(time.wallMs());
  const rows = Array.from({ length: 200 }, (_, index) => {
    const row: Partial<TriggerRow> = {
      id: `${index}`,
      trigger_type: 'schedule',
      enabled: true,
      config: { ...config, cron: `${index % 60} ${index % 24} * * *` },
      created_at: at,
      updated_at: at,
    };
    return row as TriggerRow;
  });
  let others = 0;
  let over = false;
  const come = (): void => {
    others += 1;
    if (!over) setImmediate(come);
  };
  setImmediate(come);
  const answers = await triggerAnswersOf(rows, { publicUrl: () => 'http://localhost', time });
  over = true;
  t.deepEqual(
    answers.map(({ id }) => id),
    rows.map(({ id }) => id),
  );
  t.true(answers.every(({ next_runs }) => next_runs?.length === 3));
  t.true(
    answers.every(({ next_runs = [] }, index) =>
      next_runs.every((run) => new Date(run).getUTCMinutes() === index % 60),
    ),
    'each has the runs of its own line',
  );
  t.true(others >= 9, `${others}`);
});
