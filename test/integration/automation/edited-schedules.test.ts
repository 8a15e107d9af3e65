// Schedules that are changed while a firing is due, on the real store.
import { randomUUID } from 'node:crypto';
import test from 'ava';
import { systemPlatform } from '../../../src/infra/platform/index.js';
import { createSealer } from '../../../src/infra/sealing/index.js';
import { openStore, type Store } from '../../../src/infra/storage/index.js';
import type { TenantScope } from '../../../src/kernel/tenant-scope.js';
import { parseTriggerConfig } from '../../../src/automation/triggers/config/trigger-config.js';
import { MessageSealer } from '../../../src/automation/messages/message-payload.js';
import { Sources } from '../../../src/automation/sources/sources.js';
import { Schedules, type SchedulesParts } from '../../../src/automation/sources/schedules.js';
import type { TriggerRow } from '../../../src/automation/triggers/triggers.store.js';
import { insertTenant } from '../../support/builders/callers.js';
import { databaseOfFile } from '../../support/database/database.js';
import { ownerView } from '../../support/database/owner-view.js';

const database = databaseOfFile(test);
let store: Store;
let scope: TenantScope;
let owner: Awaited<ReturnType<typeof ownerView>>;

test.serial.before(async () => {
  store = await openStore({ databaseUrl: database.url });
  owner = await ownerView(database.url);
  database.atEnd(async () => {
    await owner.end();
    await store.close();
  });
  scope = await insertTenant(store);
  await owner.query('alter table trigger_sources drop constraint trigger_sources_tenant_id_trigger_id_fkey');
});

interface Version {
  readonly revision: number;
  readonly message?: string;
  readonly cron?: string;
  readonly timezone?: string;
  readonly enabled?: boolean;
}

function startSchedule() {
  const id = randomUUID();
  const parsedOf = ({ cron = '* * * * * *', message = 'tick', timezone = 'UTC' }: Version) =>
    parseTriggerConfig('schedule', { cron, message, timezone });
  const schedulesOf = (
    version: Version,
    parts: Partial<Pick<SchedulesParts, 'store' | 'measures'>> = {},
  ): Schedules => {
    const live: unknown = { get: () => ({ enabled: true, ...version, parsed: parsedOf(version) }) };
    return new Schedules({
      store,
      live: live as SchedulesParts['live'],
      seal: new MessageSealer(
        createSealer({ masterKey: Buffer.alloc(32, 1), random: systemPlatform.random }),
      ),
      measures: { fired: () => undefined },
      ids: systemPlatform.ids,
      ...parts,
    });
  };
  return {
    /** The effects of a trigger's change in its transaction. */
    arm: (version: Version) =>
      store.inTenant(scope, (tx) => {
        const row: Partial<TriggerRow> = { id, revision: version.revision, enabled: version.enabled ?? true };
        return new Sources([schedulesOf(version)]).arm(tx, row as TriggerRow, parsedOf(version));
      }),
    /** As a node fires it that knows this version. */
    fire: async (version: Version) =>
      (await schedulesOf(version).poll(scope, id)).items.map(({ work }) => work.message),
    /** As a node fires it, perhaps with a store whose commit fails. Returns how many firings it counts. */
    countFired: async (version: Version, commits: boolean) => {
      let fired = 0;
      const failing: Store = {
        ...store,
        inTenant: (of, work) =>
          store.inTenant(of, async (tx) => {
            await work(tx);
            throw new Error('not committed');
          }),
      };
      const measures = { fired: () => void (fired += 1) };
      const firing = schedulesOf(version, { measures, store: commits ? store : failing }).poll(scope, id);
      await (commits ? firing : firing.catch(() => undefined));
      return fired;
    },
    /** A firing is due since a moment ago, and no node has polled since. */
    becomeDue: () =>
      owner.query(
        `update trigger_sources set due_at = date_trunc('second', now() - interval '2 s'),
          state = state || jsonb_build_object('handled_ms', floor(extract(epoch from now() - interval '3 s')) * 1000 + 1)
        where trigger_id = $1`,
        [id],
      ),
    dueInMs: async () => {
      const { rows } = await owner.query<{ ms: number | null }>(
        `select case when due_at < 'infinity' then extract(epoch from due_at - now())::float8 * 1000 end as ms
        from trigger_sources where trigger_id = $1`,
        [id],
      );
      return rows[0]?.ms;
    },
  };
}

test.serial('a change that keeps the times does not skip a due firing', async (t) => {
  const schedule = startSchedule();
  await schedule.arm({ revision: 1 });
  await schedule.becomeDue();
  await schedule.arm({ revision: 2, message: 'tock' });
  t.deepEqual(await schedule.fire({ revision: 2, message: 'tock' }), ['tock']);
});

test.serial('a node that has not received a change leaves the firing to one that has', async (t) => {
  const schedule = startSchedule();
  await schedule.arm({ revision: 1 });
  await schedule.becomeDue();
  await schedule.arm({ revision: 2, message: 'tock' });
  t.deepEqual(await schedule.fire({ revision: 1 }), []);
  t.deepEqual(await schedule.fire({ revision: 2, message: 'tock' }), ['tock']);
});

test.serial('new times, and an enabled schedule, start afresh', async (t) => {
  const schedule = startSchedule();
  await schedule.arm({ revision: 1 });
  await schedule.becomeDue();
  await schedule.arm({ revision: 2, cron: '0 0 1 1 *' });
  t.true(Number(await schedule.dueInMs()) > 0);
  t.deepEqual(await schedule.fire({ revision: 2, cron: '0 0 1 1 *' }), []);
  await schedule.arm({ revision: 3, enabled: false });
  t.is(await schedule.dueInMs(), null);
  t.deepEqual(await schedule.fire({ revision: 3 }), []);
  const farOff = { cron: '0 0 1 1 *' };
  await schedule.arm({ revision: 4, ...farOff });
  t.true(Number(await schedule.dueInMs()) > 0);
});

test.serial(
  'a schedule that is enabled by a node that does not know its zone is due for another',
  async (t) => {
    const schedule = startSchedule();
    await schedule.arm({ revision: 1, timezone: 'Mars/Olympus' });
    t.true(Number(await schedule.dueInMs()) <= 0);
    t.deepEqual(await schedule.fire({ revision: 1, cron: '0 0 1 1 *' }), []);
    t.true(Number(await schedule.dueInMs()) > 0);
  },
);

test.serial('a firing counts once it is committed', async (t) => {
  const schedule = startSchedule();
  await schedule.arm({ revision: 1 });
  await schedule.becomeDue();
  t.is(await schedule.countFired({ revision: 1 }, false), 0);
  t.is(await schedule.countFired({ revision: 1 }, true), 1);
});
