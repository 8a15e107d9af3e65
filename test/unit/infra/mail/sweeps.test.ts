import test from 'ava';
import { systemPlatform } from '../../../../src/infra/platform/index.js';
import { MailWorker } from '../../../../src/infra/mail/worker.js';
import { eventually } from '../../../support/clocks/eventually.js';
import { ManualTime } from '../../../support/clocks/manual-time.js';

test('old mails are deleted every hour, also if the wall clock was ahead and is set right', async (t) => {
  const time = new ManualTime('2027-11-23T12:00:00Z');
  const swept: string[] = [];
  let claims = 0;
  const tx = {
    any: async () => {
      claims += 1;
      return [];
    },
    query: async ({ sql }: { sql: string }) => void swept.push(sql),
  };
  const worker = new MailWorker({
    store: { directory: (work: (one: typeof tx) => unknown) => work(tx) },
    transport: { close: async () => undefined },
    time,
    random: systemPlatform.random,
    mayAct: () => true,
    onProblem: (error: unknown) => t.fail(String(error)),
  } as never);
  t.teardown(() => worker.close());
  await eventually(() => claims === 1 && time.pending === 1);
  time.setWall('2026-11-23T12:00:00Z');
  for (const [passedMs, sweeps] of [
    [3_599_000, 0],
    [5_000, 1],
    [5_000, 1],
  ] as const) {
    const before = claims;
    time.advance(passedMs);
    await eventually(() => claims > before && time.pending === 1);
    t.is(swept.length, sweeps);
  }
  t.regex(swept[0] ?? '', /delete from mails/);
});
