// Fences over a restore: a process that goes on from before it writes nothing into the restored database.
import test from 'ava';
import { activated, adding, counterAddress } from '../../../contracts/fence-store.js';
import { backUp, folderFor, restore } from '../../../support/database/backups.js';
import { createDatabase, createEmptyDatabase } from '../../../support/database/database.js';
import { createSumTables, openSumStore } from '../../../support/database/sum-tables.js';

test('an activation from before a restore is fenced, also when a restored one has the same epoch', async (t) => {
  t.timeout(240_000);
  const source = await createDatabase(t);
  const target = await createEmptyDatabase(t);
  const folder = await folderFor(t);
  await createSumTables(source.url);
  const address = counterAddress();
  const before = openSumStore(source.url);
  t.teardown(() => before.close());
  await activated(before, address, 'kept');
  await backUp(source.url, folder, { leftOut: ['sums', 'additions'] });
  const { fence: late } = await activated(before, address, 'late');
  t.is(Number(late.epoch), 2);

  await restore(target.url, folder);
  await createSumTables(target.url);
  const after = openSumStore(target.url);
  t.teardown(() => after.close());
  const outcomeOf = async (fence: typeof late): Promise<string | undefined> =>
    (await after.write([adding(fence, 1)]))[0]?.outcome;
  t.is(await outcomeOf(late), 'fenced', 'its epoch is ahead of the restored one');
  const { fence: own } = await activated(after, address, 'restored');
  t.is(own.epoch, late.epoch, 'the epoch goes on from the backup');
  t.is(await outcomeOf(late), 'fenced', 'its epoch is that of another activation');
  t.is(await outcomeOf(own), 'written');
});
