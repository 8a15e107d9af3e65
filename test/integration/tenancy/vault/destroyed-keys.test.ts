// The data keys of a deleted tenant leave the memory of every node, not only of the one that deleted it.
import { randomBytes } from 'node:crypto';
import test from 'ava';
import { openChangeFeed, openStore } from '../../../../src/infra/storage/index.js';
import {
  announceDestroyedVault,
  createVault,
  destroyVault,
  type Vault,
} from '../../../../src/tenancy/vault/index.js';
import { insertTenant } from '../../../support/builders/callers.js';
import { platformOf } from '../../../support/builders/platform.js';
import { eventually } from '../../../support/clocks/eventually.js';
import { createDatabase } from '../../../support/database/database.js';
import { ownerView } from '../../../support/database/owner-view.js';

const masterKey = randomBytes(32);

test('another node forgets the data key of a deleted tenant, so that a kept copy of its secrets opens nowhere', async (t) => {
  const { url } = await createDatabase(t);
  const store = await openStore({ databaseUrl: url });
  t.teardown(() => store.close());
  const client = await ownerView(url);
  t.teardown(() => client.end());
  const listening = async (): Promise<Vault> => {
    const platform = platformOf({ store });
    const { time, random } = platform;
    const changes = await openChangeFeed({
      databaseUrl: url,
      time,
      random,
      onProblem: (error) => t.log(error),
    });
    t.teardown(() => changes.close());
    return createVault({ ...platform, changes }, { masterKey, providers: () => [] });
  };
  const [first, second] = [await listening(), await listening()];
  const deaf = createVault(platformOf({ store }), { masterKey, providers: () => [] });
  await first.prepare();
  const scope = await insertTenant(store);
  const valueAt = async (vault: Vault): Promise<string> =>
    (await vault.resolve(scope, 'door')).value.reveal();
  await store.inTenant(scope, (tx) => first.putNamed(tx, 'operator', 'door', 'what is behind it'));
  for (const vault of [first, second, deaf]) t.is(await valueAt(vault), 'what is behind it');

  // A copy of the rows, as a backup has it, whose data key cannot be unwrapped any more.
  await client.query('create temporary table kept_keys as table vault_data_keys');
  await client.query('create temporary table kept_versions as table secret_versions');
  await client.query(`update kept_keys set wrapped = '\\x00'`);
  await store.inTenant(scope, async (tx) => {
    await destroyVault(tx);
    await announceDestroyedVault(tx);
  });
  await client.query('insert into vault_data_keys table kept_keys');
  await client.query('insert into secret_versions table kept_versions');

  // Without the announcement the copy opens, by the key in memory.
  t.is(await valueAt(deaf), 'what is behind it');
  for (const vault of [first, second]) {
    await eventually(async () =>
      valueAt(vault).then(
        () => false,
        () => true,
      ),
    );
  }
});
