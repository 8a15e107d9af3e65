import test from 'ava';
import type { DatabaseListeners, DatabaseReader } from '../../../src/automation/databases/index.js';
import { OpenTable } from '../../../src/automation/sources/open-table.js';
import { ManualTime } from '../../support/clocks/manual-time.js';

async function listeningTable() {
  const time = new ManualTime('2026-05-01T00:00:00Z');
  const counts = { wakes: 0, closes: 0 };
  let ears: DatabaseListeners | undefined;
  let end = (): void => undefined;
  const closed = new Promise<void>((resolve) => {
    end = resolve;
  });
  const reader: Pick<DatabaseReader, 'listen' | 'isCurrent' | 'closed' | 'close'> = {
    closed,
    listen: async (_, given) => {
      ears = given;
      return { close: async () => undefined };
    },
    isCurrent: async () => true,
    close: async () => {
      counts.closes += 1;
      ears?.onEnd();
    },
  };
  const table = new OpenTable({
    about: 'visits',
    reader: reader as DatabaseReader,
    keys: [],
    birth: undefined,
    time,
    wake: () => void (counts.wakes += 1),
  });
  await table.listen('visits');
  return { time, counts, table, lose: () => ears?.onEnd(), end };
}

test('polls go on without notifications for a pause, then one is asked for that connects anew', async (t) => {
  const { time, counts, table, lose } = await listeningTable();
  lose();
  time.advance(4_999);
  t.true(await table.serves('visits'));
  t.is(counts.wakes, 0, 'a server that ends each connection is not asked without end');
  time.advance(1);
  t.is(counts.wakes, 1);
  t.false(await table.serves('visits'));
});

test('closing asks for no poll, also after the listening connection has ended', async (t) => {
  for (const isLost of [false, true]) {
    const { time, counts, table, lose } = await listeningTable();
    if (isLost) lose();
    await table.close();
    time.advance(3_600_000);
    t.deepEqual(counts, { wakes: 0, closes: 1 });
  }
});

test('a connection is opened anew after seven minutes, so that it follows the address of its database', async (t) => {
  const { time, counts, table } = await listeningTable();
  time.advance(7 * 60_000 - 1);
  t.true(await table.serves('visits'));
  time.advance(1);
  t.false(await table.serves('visits'));
  t.is(counts.wakes, 0, 'the next poll is soon enough');
});

test('a connection that its server ended between two polls is not used again', async (t) => {
  const { counts, table, end } = await listeningTable();
  t.true(await table.serves('visits'));
  end();
  t.false(await table.serves('visits'));
  t.is(counts.wakes, 0);
});
