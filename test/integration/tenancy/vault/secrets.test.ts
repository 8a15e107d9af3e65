import { randomBytes } from 'node:crypto';
import { inspect } from 'node:util';
import test from 'ava';
import pg from 'pg';
import { sql } from '../../../../src/infra/storage/index.js';
import { dump, ownerView } from '../../../support/database/owner-view.js';
import { secretShape, VaultRig } from '../../../support/servers/vault-rig.js';

const rig = new VaultRig(test);

async function wholeDatabase(): Promise<string> {
  const owner = await ownerView(rig.databaseUrl);
  try {
    return await dump(owner);
  } finally {
    await owner.end();
  }
}

test.serial('no database, refusal, error or report contains a planted value', async (t) => {
  const scope = await rig.enter();
  const value = `PLANTED${randomBytes(12).toString('hex')}`;
  const texts: string[] = [];
  const { data } = await rig.create({ name: 'planted', value });
  const id = data?.id ?? '';
  for (const body of [
    { name: 'planted', value },
    { name: value.repeat(9), value },
    { name: 'other', value, kind: 'llm_key', provider: 'nobody' },
    { name: 'other', value: [value] },
    { name: 'other', value: value.repeat(2_000) },
    { name: 'other', value, allowed_hosts: 'no list' },
    { name: 'other', value, allowed_hosts: ['not a host'] },
  ]) {
    const { status, text } = await rig.create(body);
    t.true(status >= 400 && status < 500, text);
    // The message about a name may repeat the caller's name.
    if (!body.name.includes(value)) texts.push(text);
  }
  texts.push(
    (await rig.call('PUT', `/api/secrets/${id}/value`, { value: `${value}2`, grace_seconds: -1 })).text,
  );
  t.is((await rig.call('PUT', `/api/secrets/${id}/value`, { value: `${value}2` })).status, 200);
  await rig.store.inTenant(scope, (tx) => rig.vault.putOwned(tx, 'database:1', 'user:1', value));
  const failure = await t.throwsAsync(
    rig.store.inTenant(scope, async (tx) => {
      await rig.vault.putOwned(tx, 'x'.repeat(300), 'user:1', value);
    }),
  );
  texts.push(
    inspect(failure, { depth: 20, showHidden: true }),
    inspect(rig.vault, { depth: 20, showHidden: true }),
  );
  const stored = await wholeDatabase();
  t.regex(stored, new RegExp(`secret_versions:\\n.*${id}`, 's'), 'the search reads the rows');
  texts.push(inspect(rig.reports, { depth: 20 }), stored);
  const bytes = Buffer.from(value);
  for (const text of texts) {
    for (const form of [value, bytes.toString('base64').slice(0, 24), bytes.toString('hex')]) {
      t.false(text.includes(form), text.slice(0, 500));
    }
  }
});

test.serial(
  'of two concurrent creations of one name one succeeds and the other gets a conflict',
  async (t) => {
    const scope = await rig.enter();
    const answers = await Promise.all(
      ['one', 'two', 'three'].map((value) => rig.create({ name: 'same', value })),
    );
    t.deepEqual(
      answers.map(({ status }) => status).sort((one, other) => one - other),
      [201, 409, 409],
    );
    const winner = answers.findIndex(({ status }) => status === 201);
    t.is((await rig.vault.resolve(scope, 'same')).value.reveal(), ['one', 'two', 'three'][winner] ?? '');
  },
);

test.serial("a tenant's first secrets, stored at once, share one data key", async (t) => {
  const scope = await rig.enter();
  const names = Array.from({ length: 8 }, (_, index) => `s${index}`);
  const answers = await Promise.all(names.map((name) => rig.create({ name, value: `value of ${name}` })));
  t.true(answers.every(({ status }) => status === 201));
  for (const name of names) t.is((await rig.vault.resolve(scope, name)).value.reveal(), `value of ${name}`);
  const { count } = await rig.store.inTenant(scope, (tx) =>
    tx.one(sql.typeAlias('count')`select count(*) as count from vault_data_keys`),
  );
  t.is(count, 1);
});

test.serial(
  'a new value is used at once, and the old one is accepted until its grace period ends',
  async (t) => {
    const scope = await rig.enter();
    const { id } = await rig.made({ name: 'hook', value: 'first' });
    const changed = await rig.call('PUT', `/api/secrets/${id}/value`, { value: 'second' });
    t.like(changed.body, { data: { version: 2 } });
    t.not(secretShape.parse(changed.body['data']).previous_value_accepted_until, null);
    const accepted = async () => (await rig.vault.resolveAll(scope, 'hook')).map((value) => value.reveal());
    t.is((await rig.vault.resolve(scope, 'hook')).value.reveal(), 'second');
    t.deepEqual(await accepted(), ['second', 'first']);
    await rig.call('PUT', `/api/secrets/${id}/value`, { value: 'third', grace_seconds: 0 });
    t.deepEqual(await accepted(), ['third']);
    const { count } = await rig.store.inTenant(scope, (tx) =>
      tx.one(sql.typeAlias('count')`select count(*) as count from secret_versions`),
    );
    t.is(count, 1);
  },
);

test.serial('concurrent new values each become a version, and the last one counts', async (t) => {
  const scope = await rig.enter();
  const { id } = await rig.made({ name: 'busy', value: 'v' });
  const answers = await Promise.all(
    Array.from({ length: 6 }, (_, index) =>
      rig.call('PUT', `/api/secrets/${id}/value`, { value: `v${index}` }),
    ),
  );
  t.deepEqual(
    answers.map(({ body }) => secretShape.parse(body['data']).version).sort((one, other) => one - other),
    [2, 3, 4, 5, 6, 7],
  );
  t.is((await rig.vault.resolve(scope, 'busy')).version, 7);
});

test.serial('a deletion waits for a transaction that stores a reference, and then sees it', async (t) => {
  const scope = await rig.enter();
  const { id } = await rig.made({ name: 'racing', value: 'v' });
  const order: string[] = [];
  let deletion: Promise<unknown> | undefined;
  await rig.store.inTenant(scope, async (tx) => {
    t.like(await rig.vault.keep(tx, 'racing'), { id });
    deletion = rig
      .call('DELETE', `/api/secrets/${id}`)
      .then(({ status }) => order.push(`deletion: ${status}`));
    await waitsForLock(rig.databaseUrl);
    rig.references.push({ secretId: id, type: 'trigger', id: 't2', name: 'late' });
    order.push('reference stored');
  });
  await deletion;
  t.deepEqual(order, ['reference stored', 'deletion: 409']);
});

test.serial("the tenant's vendor keys are found by provider, the latest first", async (t) => {
  const scope = await rig.enter();
  await rig.made({ name: 'plain', value: 'v' });
  for (const name of ['one', 'two'])
    await rig.made({ name, value: name, kind: 'llm_key', provider: 'openai' });
  const keys = await rig.vault.providerKeys(scope);
  t.deepEqual(
    keys.map(({ name, provider }) => [name, provider]),
    [
      ['two', 'openai'],
      ['one', 'openai'],
    ],
  );
});

test.serial(
  'a private secret of another entity is replaced in place, is in no list and is deleted with it',
  async (t) => {
    const scope = await rig.enter();
    const put = (value: string) =>
      rig.store.inTenant(scope, (tx) => rig.vault.putOwned(tx, 'database:7', 'user:1', value));
    const id = await put('first');
    t.is(await put('second'), id);
    const values = await rig.vault.resolveAll(scope, { vault_secret_id: id });
    t.deepEqual(
      values.map((value) => value.reveal()),
      ['second'],
    );
    t.like((await rig.call('GET', '/api/secrets')).body, { count: 0 });
    t.is((await rig.call('GET', `/api/secrets/${id}`)).status, 404);
    await rig.store.inTenant(scope, (tx) => rig.vault.deleteOwned(tx, 'database:7'));
    t.is(await rig.vault.find(scope, { vault_secret_id: id }), undefined);
  },
);

async function waitsForLock(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const endsAt = performance.now() + 10_000;
    while (performance.now() < endsAt) {
      const { rowCount } = await client.query(
        "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
      );
      if (rowCount === 1) return;
    }
    throw new Error('nobody waits for a lock');
  } finally {
    await client.end();
  }
}
