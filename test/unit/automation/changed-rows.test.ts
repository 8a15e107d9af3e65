import { randomUUID } from 'node:crypto';
import test from 'ava';
import { systemIds } from '../../../src/infra/platform/index.js';
import { systemTime } from '../../../cluster/index.js';
import { tenantScope } from '../../../src/kernel/tenant-scope.js';
import { databaseEventConfig } from '../../../src/automation/triggers/types/database-event.js';
import { DatabaseEvents, type DatabaseEventsParts } from '../../../src/automation/sources/database-events.js';

interface Asked {
  readonly sql: string;
  readonly values: readonly unknown[];
}

const config = databaseEventConfig.parse({
  database_config_id: randomUUID(),
  table: 'tasks',
  events: ['update'],
  cursor_column: 'changed',
  created_column: 'made',
  message_template: '{{ title }}',
});
const inserted = { 'troupe inserted': 't' };

test("a row inserted between a poll's two queries is not an update, but its next change is", async (t) => {
  // Each poll gets the latest creation time, then the rows. The second poll still compares with the first one's.
  const looks = [
    { highest: '1', row: { id: '2', title: 'new', made: '2', changed: '5', ...inserted } },
    { highest: '2', row: { id: '2', title: 'changed', made: '2', changed: '6', ...inserted } },
    { highest: '2', row: { id: '2', title: 'changed', made: '2', changed: '6' } },
  ];
  let look = 0;
  const reader = {
    allows: () => true,
    isCurrent: async () => true,
    closed: new Promise<void>(() => undefined),
    close: async () => undefined,
    select: async (text: string) => {
      if (text.includes('pg_index')) return { rows: [{ name: 'id' }], more: false };
      const now = looks[look];
      return { rows: [text.includes('max(') ? { highest: now?.highest } : now?.row], more: false };
    },
  };
  const about = JSON.stringify([config.database_config_id, config.table, config.cursor_column]);
  let state: unknown = { about, floor: '0', cursor: '0', born: '1', swept_ms: Date.now() };
  const noted = new Set<unknown>();
  const isNews = ({ values }: Asked): boolean => noted.size < noted.add(values[2]).size;
  const tx = {
    maybeOne: async () => ({ kind: 'db_event', state, failures: 0, now: new Date() }),
    maybeOneFirst: async (asked: Asked) => (isNews(asked) ? noted.size : null),
    any: async () => [],
    query: async (asked: Asked) => {
      if (asked.sql.includes('insert into trigger_inbox')) return { rowCount: isNews(asked) ? 1 : 0 };
      state = JSON.parse(String(asked.values[0]));
      return { rowCount: 1 };
    },
  };
  const parts: unknown = {
    store: { inTenant: (_scope: unknown, work: (transaction: typeof tx) => unknown) => work(tx) },
    live: {
      get: (id: string) => ({ id, enabled: true, revision: 1, parsed: { type: 'db_event', config } }),
    },
    seal: { seal: () => Buffer.from('sealed') },
    databases: { connect: async () => reader },
    isFull: () => false,
    ids: systemIds,
    time: systemTime,
  };
  const events = new DatabaseEvents(parts as DatabaseEventsParts);
  const found: string[][] = [];
  for (; look < looks.length; look += 1) {
    const { items } = await events.poll(tenantScope(randomUUID()), randomUUID(), false);
    found.push(items.map(({ work }) => work.message));
  }
  t.deepEqual(found, [[], ['changed'], []]);
});
