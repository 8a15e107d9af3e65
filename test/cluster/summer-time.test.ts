// Schedules of three nodes over the days on which the clocks are changed. PostgreSQL is real and tells the time, so its
// clock is the one that is turned: the nodes' connections find another `clock_timestamp()` first.
import { randomUUID } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { systemPlatform } from '../../src/infra/platform/index.js';
import { tenantScope } from '../../src/kernel/tenant-scope.js';
import { createSealer } from '../../src/infra/sealing/index.js';
import { openStore, type Store } from '../../src/infra/storage/index.js';
import { parseTriggerConfig } from '../../src/automation/triggers/config/trigger-config.js';
import { MessageSealer } from '../../src/automation/messages/message-payload.js';
import { Schedule } from '../../src/automation/triggers/schedule/schedule.js';
import { Schedules } from '../../src/automation/sources/schedules.js';
import { dueSources } from '../../src/automation/sources/sources.store.js';
import { createDatabase } from '../support/database/database.js';
import { eventually } from '../support/clocks/eventually.js';
import { ownerView } from '../support/database/owner-view.js';
import { TcpProxy } from '../support/servers/tcp-proxy.js';

interface Change {
  readonly zone: string;
  /** The day by the zone's own calendar. */
  readonly from: string;
  readonly to: string;
  /** Cron lines: each quarter of an hour, in the skipped or repeated hour, at midnight. */
  readonly counts: readonly [number, number, number];
}

const changes: readonly Change[] = [
  { zone: 'Europe/Berlin', from: '2026-03-28T23:00:00Z', to: '2026-03-29T22:00:00Z', counts: [92, 1, 1] },
  { zone: 'Europe/Berlin', from: '2026-10-24T22:00:00Z', to: '2026-10-25T23:00:00Z', counts: [96, 2, 1] },
  { zone: 'America/New_York', from: '2026-03-08T05:00:00Z', to: '2026-03-09T04:00:00Z', counts: [92, 1, 1] },
  { zone: 'America/New_York', from: '2026-11-01T04:00:00Z', to: '2026-11-02T05:00:00Z', counts: [96, 2, 1] },
];

/** Two firings in the hour that is changed: the skipped one runs once, the repeated one as often as written. */
const lineOfChangedHour = { 'Europe/Berlin': '*/30 2 * * *', 'America/New_York': '*/30 2 * * *' };
const autumnLineOfNewYork = '*/30 1 * * *';
const scope = tenantScope(randomUUID());
const seal = new MessageSealer(
  createSealer({ masterKey: Buffer.alloc(32, 1), random: systemPlatform.random }),
);

interface Node {
  readonly store: Store;
  readonly schedules: Schedules;
  readonly proxy: TcpProxy;
}

function linesOf({ zone, counts }: Change): readonly string[] {
  const changed =
    zone === 'America/New_York' && counts[1] === 2
      ? autumnLineOfNewYork
      : (lineOfChangedHour[zone as keyof typeof lineOfChangedHour] ?? '');
  return ['*/15 * * * *', changed, '0 0 * * *'];
}

for (const change of changes) {
  const { zone, from, to, counts } = change;
  test.serial(
    `every firing of ${from.slice(0, 10)} in ${zone} runs once although its node dies before the commit`,
    async (t) => {
      t.timeout(300_000);
      const start = Date.parse(from) - 1;
      const end = Date.parse(to) - 1;
      const database = await createDatabase(t);
      const owner = await ownerView(database.url);
      t.teardown(() => owner.end());
      await owner.query(`create schema turned;
        create table turned.clock (at timestamptz not null);
        create function turned.clock_timestamp() returns timestamptz language sql stable as 'select at from turned.clock';
        grant usage on schema turned to public;
        grant select on turned.clock to public;
        alter table trigger_sources drop constraint trigger_sources_tenant_id_trigger_id_fkey`);
      await owner.query('insert into turned.clock values ($1)', [new Date(start)]);
      const lines = new Map(linesOf(change).map((cron) => [randomUUID(), cron]));
      const scheduleOf = (cron: string): Schedule => {
        const schedule = Schedule.read({ cron, timezone: zone }, start);
        if (!(schedule instanceof Schedule)) throw new Error(schedule.issue);
        return schedule;
      };
      for (const [id, cron] of lines) {
        await owner.query(
          `insert into trigger_sources (tenant_id, trigger_id, kind, state, due_at) values ($1, $2, 'schedule', $3, $4)`,
          [scope.tenantId, id, { handled_ms: start }, new Date(scheduleOf(cron).next(start) ?? 0)],
        );
      }
      let firings = 0;
      let killed: Node | undefined;
      const nodes: Node[] = [];
      for (let index = 0; index < 3; index += 1) {
        // In the middle of the day, with the firing in its transaction and not yet committed.
        const onFiring = (): void => {
          firings += 1;
          const node = nodes[index];
          if (killed !== undefined || node === undefined || firings < counts[0] / 2) return;
          killed = node;
          node.proxy.mode = 'down';
          node.proxy.cutAll();
        };
        nodes.push(await startNode(t, database.url, lines, zone, onFiring));
      }

      for (;;) {
        const { rows } = await owner.query<{ due: Date }>('select min(due_at) as due from trigger_sources');
        const due = rows[0]?.due.getTime() ?? Number.NaN;
        if (due > end) break;
        // No poll happens at the exact moment.
        await owner.query('update turned.clock set at = $1', [new Date(due + 1 + Math.random() * 10_000)]);
        await eventually(
          async () => {
            await Promise.all(
              nodes.filter((node) => node !== killed).map((node) => look(node, () => killed)),
            );
            const left = await owner.query(
              'select from trigger_sources where due_at <= (select at from turned.clock)',
            );
            return left.rowCount === 0;
          },
          { timeoutMs: 60_000, everyMs: 10, what: 'what is due has been fired' },
        );
      }

      t.not(killed, undefined);
      t.true(firings > counts[0] + counts[1] + counts[2], 'the firing of the ended transaction was repeated');
      for (const [index, [id, cron]] of [...lines].entries()) {
        const { rows } = await owner.query<{ key: string }>(
          'select key from trigger_inbox where trigger_id = $1 order by key',
          [id],
        );
        t.is(rows.length, counts[index] ?? 0, cron);
        t.deepEqual(
          rows.map(({ key }) => key),
          scheduleOf(cron)
            .between(start, end, 1_000)
            .map((firing) => `schedule:${new Date(firing).toISOString()}`),
        );
      }
    },
  );
}

async function startNode(
  t: ExecutionContext,
  databaseUrl: string,
  lines: ReadonlyMap<string, string>,
  timezone: string,
  onFiring: () => void,
): Promise<Node> {
  const proxy = await TcpProxy.before(databaseUrl);
  t.teardown(() => proxy.close());
  const url = new URL(proxy.url);
  url.searchParams.set('options', '-c search_path=turned,pg_catalog,public');
  const store = await openStore({ databaseUrl: url.href });
  t.teardown(() => store.close());
  const live = {
    get: (id: string) => ({
      id,
      scope,
      limits: {
        plan: 'pro' as const,
        requestsPerMinute: 1,
        requestsPerDay: 1,
        monthlyTokens: 1,
        keyRpmMax: 1,
      },
      agentId: id,
      enabled: true,
      suspended: false,
      revision: 1,
      parsed: parseTriggerConfig('schedule', {
        cron: lines.get(id) ?? '',
        timezone,
        message: 'tick',
        context: {},
        missed: 'skip',
        allow_overlap: true,
      }),
      secrets: [],
      formerSecretUntilMs: 0,
    }),
  };
  const schedules = new Schedules({
    store,
    live,
    seal,
    measures: { fired: () => undefined },
    // Asked inside the transaction, once for each firing.
    ids: {
      uuid() {
        onFiring();
        return systemPlatform.ids.uuid();
      },
    },
  });
  return { store, schedules, proxy };
}

/** Polls like a node: all due rows. A process killed meanwhile throws, and nothing reads its error. */
async function look(node: Node, killed: () => Node | undefined): Promise<void> {
  try {
    const schedules = { kind: 'schedule', lateMs: 0, rowsMax: 100 } as const;
    const due = await node.store.directory((tx) => dueSources(tx, schedules));
    await Promise.all(due.map(({ trigger_id }) => node.schedules.poll(scope, trigger_id)));
  } catch (error) {
    if (killed() !== node) throw error;
  }
}
