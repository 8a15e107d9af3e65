// Tables of tenants with triggers for their rows, polled as nodes do, with both databases real.
import { randomUUID } from 'node:crypto';
import type { ExecutionContext, TestFn } from 'ava';
import { systemPlatform } from '../../../src/infra/platform/index.js';
import { systemTime, type Time } from '../../../cluster/index.js';

import { createSealer } from '../../../src/infra/sealing/index.js';
import { databaseEventConfig } from '../../../src/automation/triggers/types/database-event.js';
import { MessageSealer } from '../../../src/automation/messages/message-payload.js';
import { DatabaseEvents, type DatabaseEventsParts } from '../../../src/automation/sources/database-events.js';
import { databaseOfFile, type FileDatabase } from '../database/database.js';
import { type DatabasesBench, startDatabases, startShop } from './databases.js';
import { eventually } from '../clocks/eventually.js';
import { ownerView } from '../database/owner-view.js';

type Given = {
  readonly nodes?: number;
  readonly hurry?: number;
  /** A statement that runs before the trigger starts. */
  readonly before?: string;
} & Readonly<Record<string, unknown>>;

export interface PolledTables {
  readonly database: FileDatabase;
  startLooking(t: ExecutionContext, table: string, given?: Given): ReturnType<typeof startTable>;
}

interface Tables {
  readonly database: FileDatabase;
  readonly bench: DatabasesBench;
}

/** The database of a test file whose tests have tables that are polled. */
export function polledTables<Context>(test: TestFn<Context>): PolledTables {
  const database = databaseOfFile(test);
  let bench: DatabasesBench;
  test.serial.before(async () => {
    bench = await startDatabases(database);
    const owner = await ownerView(database.url);
    await owner.query(
      'alter table trigger_sources drop constraint trigger_sources_tenant_id_trigger_id_fkey',
    );
    await owner.end();
  });
  return {
    database,
    startLooking: (t: ExecutionContext, table: string, given: Given = {}) =>
      startTable({ database, bench }, t, table, given),
  };
}

/** A shop with a table, and a trigger for its rows, polled by `nodes` nodes whose pauses are shorter by `hurry`. */
async function startTable(
  { database, bench }: Tables,
  t: ExecutionContext,
  table: string,
  { nodes = 1, hurry = 1, before = 'select 1', ...given }: Given = {},
) {
  const shop = await startShop(t);
  await shop.client.query(table);
  await shop.client.query(before);
  const scope = await bench.newTenant();
  const person = bench.person(scope, 'owner');
  const made = await person.call('POST', '/api/database-configs', {
    name: 'shop',
    connection_config: shop.place,
  });
  const configId = String(made.body.data.id);
  const config = databaseEventConfig.parse({
    database_config_id: configId,
    table: 'visits',
    cursor_column: 'at',
    message_template: '{{ id }}',
    ...given,
  });
  const triggerId = randomUUID();
  /** What the nodes know. */
  const node = { isFull: false, config, revision: 1, passedMs: 0 };
  const live: unknown = {
    get: () => ({
      id: triggerId,
      agentId: randomUUID(),
      enabled: true,
      revision: node.revision,
      parsed: { type: 'db_event', config: node.config },
    }),
  };
  const time: Time = {
    ...systemTime,
    monotonicMs: () => systemTime.monotonicMs() + node.passedMs,
    after: (delayMs, action) => systemTime.after(delayMs / hurry, action),
  };
  const found: string[] = [];
  /** The polls that were asked for early. */
  const early: Promise<void>[] = [];
  const lookEarly = async (before: Promise<void> | undefined): Promise<void> => {
    await before;
    const looked = await lookers[0]?.poll(scope, triggerId, true);
    found.push(...(looked?.items ?? []).map(({ work }) => work.message));
  };
  const parts: Partial<DatabaseEventsParts> = {
    store: bench.store,
    live: live as DatabaseEventsParts['live'],
    seal: new MessageSealer(createSealer({ masterKey: Buffer.alloc(32, 1), random: systemPlatform.random })),
    databases: bench.databases,
    ids: systemPlatform.ids,
    time,
    isFull: () => node.isFull,
    wake: () => void early.push(lookEarly(early.at(-1))),
  };
  const lookers = Array.from({ length: nodes }, () => new DatabaseEvents(parts as DatabaseEventsParts));
  t.teardown(async () => void (await Promise.all(lookers.map((one) => one.stop()))));
  const owner = await ownerView(database.url);
  t.teardown(() => owner.end());
  const connections = async (): Promise<number | undefined> => {
    const { rows } = await shop.client.query<{ n: number }>(
      "select count(*)::int as n from pg_stat_activity where datname = current_database() and application_name = 'troupe'",
    );
    return rows[0]?.n;
  };
  const beginning = await lookers[0]?.beginning(scope, config);
  // Its connection is closed, and the server may still list it.
  await eventually(async () => (await connections()) === 0);
  await owner.query(
    "insert into trigger_sources (tenant_id, trigger_id, kind, state, due_at) values ($1, $2, 'db_event', $3, now())",
    [scope.tenantId, triggerId, beginning],
  );
  const look = async (node = 0): Promise<boolean> => {
    await owner.query('update trigger_sources set due_at = now() where trigger_id = $1', [triggerId]);
    const looked = await lookers[node]?.poll(scope, triggerId, false);
    found.push(...(looked?.items ?? []).map(({ work }) => work.message));
    return looked?.againInMs !== undefined && looked.againInMs < config.poll_ms;
  };
  return {
    shop,
    node,
    scope: { tenantId: scope.tenantId },
    person,
    configId,
    found,
    early,
    look,
    /** Until a poll has reached the end of the table. */
    lookToTheEnd: async () => {
      for (let looks = 1; looks <= 30; looks += 1) if (!(await look())) return looks;
      return t.fail('looking comes to no end');
    },
    /** The effects of a change of the trigger in its transaction; no node knows it yet. */
    change: async (revision: number, changed: Readonly<Record<string, unknown>>) => {
      const [looker] = lookers;
      const wanted = databaseEventConfig.parse({ ...config, ...changed });
      const beginning = await looker?.beginning(scope, wanted, node.config);
      await bench.store.inTenant(scope, async (tx) =>
        looker?.arm(tx, wanted, {
          row: { id: triggerId, enabled: true, revision },
          now: new Date(),
          beginning,
        }),
      );
      return wanted;
    },
    /** The failed executions of the trigger: what its owner sees. */
    faults: async () => {
      const { rows } = await owner.query<{ code: string; message: string }>(
        `select error ->> 'code' as code, error ->> 'message' as message from executions
        where trigger_id = $1 and status = 'failed' order by created_at`,
        [triggerId],
      );
      return rows;
    },
    /** What its owner sees of the source. */
    health: async () => {
      const { rows } = await owner.query<{ failures: number; last_error: string | null }>(
        'select failures, last_error from trigger_sources where trigger_id = $1',
        [triggerId],
      );
      return rows[0];
    },
    /** Lets more than a day pass: the records of the rows expire. */
    passDay: async () => {
      await owner.query('delete from trigger_inbox where trigger_id = $1', [triggerId]);
      await owner.query(
        `update trigger_sources set state = state || jsonb_build_object('swept_ms', (state ->> 'swept_ms')::float8 - $2::float8,
          'swept_from_ms', (state ->> 'swept_from_ms')::float8 - $2::float8,
          'marks', (select jsonb_agg(jsonb_build_object('at', (m ->> 'at')::float8 - $2::float8, 'cursor', m -> 'cursor'))
            from jsonb_array_elements(state -> 'marks') m))
        where trigger_id = $1`,
        [triggerId, 25 * 3_600_000],
      );
    },
    sweepSoon: () =>
      owner.query(
        `update trigger_sources set state = state - 'compared_ms' || jsonb_build_object('swept_ms', (state ->> 'swept_ms')::float8 - 15000)
        where trigger_id = $1`,
        [triggerId],
      ),
    lookUndue: async (node: number): Promise<void> => {
      await lookers[node]?.poll(scope, triggerId, false);
    },
    connections,
  };
}
