// What is released stays as it is, and what follows a release only adds to it.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { protocolVersion, spokenProtocols } from '../../../../cluster/links/protocol.js';
import { migrationsDirectory } from '../../../../src/infra/storage/index.js';
import { readMigrationFiles } from '../../../../src/infra/storage/migration-files.js';
import { readReleases, servesFrom } from '../../../../src/infra/storage/released-schema.js';
import { version } from '../../../../src/kernel/config/index.js';
import { headOf } from '../../../support/builders/function-head.js';
import { faultsOfMigration } from '../../../support/builders/migration-rules.js';

const releases = await readReleases(migrationsDirectory);
const files = await readMigrationFiles(migrationsDirectory);
const frozen = new Map(releases.flatMap(({ numbered }) => Object.entries(numbered)));
const newest = Math.max(...[...frozen.keys()].map((name) => Number(name.slice(0, 4))));

test('each released migration is still the same file', (t) => {
  const found = new Map(files.numbered.map(({ name, checksum }) => [name, checksum]));
  for (const [name, checksum] of frozen) {
    t.is(found.get(name), checksum, `migrations/${name} is released: restore it, and add a new file`);
  }
});

test('each later migration has a higher number and only adds', (t) => {
  const versions = releases.map((release) => release.version);
  t.true(newest > 0);
  for (const { name, number, text } of files.numbered) {
    if (frozen.has(name)) continue;
    t.true(number > newest, `${name}: a node of the last release accepts only numbers above ${newest}`);
    for (const { statement, why } of faultsOfMigration(text, versions)) {
      t.fail(`${name}: ${why}: ${statement.slice(0, 200)}`);
    }
  }
});

test('nodes of the last release find the functions that they call', async (t) => {
  for (const [file, { head }] of Object.entries(releases.at(-1)?.functions ?? {})) {
    const text = await readFile(join(migrationsDirectory, 'functions', file), 'utf8').catch(() => undefined);
    if (text === undefined) {
      t.fail(`migrations/functions/${file} is released: keep it until no running release calls it`);
    } else {
      t.is(headOf(text), head, `functions/${file}: give the changed function a new name`);
    }
  }
});

test('a release that changes functions has a numbered file', (t) => {
  const known = releases.at(-1)?.functions ?? {};
  const changed = files.functions.filter(
    ({ name, checksum }) => known[name.replace('functions/', '')]?.checksum !== checksum,
  );
  const hasNumbered = files.numbered.some(({ number }) => number > newest);
  t.true(
    changed.length === 0 || hasNumbered,
    `${changed.map(({ name }) => name).join()}: in a database that this version made, a node of the last release ` +
      'would put back its former texts; add a numbered file, by which it sees that the database is newer',
  );
});

test('the heads of all functions can be read', (t) => {
  for (const { name, text } of files.functions) t.true(headOf(text).includes('returns'), name);
});

test('each release has a protocol version of its own and speaks that of the release before', (t) => {
  const protocols = releases.map(({ protocol }) => protocol);
  t.deepEqual(
    protocols,
    [...new Set(protocols)].toSorted((one, other) => one - other),
  );
  const isReleased = releases.some((release) => release.version === version);
  const before = isReleased ? protocols.at(-2) : protocols.at(-1);
  t.is(protocolVersion, (before ?? 0) + 1);
  t.deepEqual(spokenProtocols, { min: before ?? protocolVersion, max: protocolVersion });
});

test('the guide lists the protocol and the schema of each release', async (t) => {
  const guide = await readFile('docs/guides/upgrade.md', 'utf8');
  for (const { version: name, protocol } of releases) {
    const schema = Math.max(
      ...Object.keys(releases.find((one) => one.version === name)?.numbered ?? {}).map((file) =>
        Number(file.slice(0, 4)),
      ),
    );
    const row = new RegExp(
      `^\\| ${name.replace(/\.\d+$/, '')} \\| ${protocol} \\| [\\d, ]+ \\| ${schema} \\|`,
      'm',
    );
    t.regex(guide, row);
  }
  const own = version.replace(/\.\d+(?:-\w+)?$/, '');
  const { min, max } = spokenProtocols;
  t.true(guide.includes(`| ${own} | ${max} | ${min}, ${max} |`), `a row for ${own}`);
});

test('a file serves nodes that know the schema of the release before it', (t) => {
  const release = (name: string, numbers: readonly string[]) => ({
    version: name,
    protocol: 1,
    numbered: Object.fromEntries(numbers.map((number) => [number, ''])),
    functions: {},
  });
  const known = [release('0.1.0', ['0010_a.sql', '0400_b.sql']), release('0.2.0', ['0410_c.sql'])];
  t.is(servesFrom('0400_b.sql', known), 0);
  t.is(servesFrom('0410_c.sql', known), 400);
  t.is(servesFrom('0420_d.sql', known), 410);
  t.is(servesFrom('0420_d.sql', []), 0);
});

const released = ['0.1.0', '0.2.0'];
const faults = (text: string): number => faultsOfMigration(text, released).length;

test('a migration that takes something away is refused', (t) => {
  for (const text of [
    'drop table users;',
    'alter table users drop column name;',
    'ALTER TABLE users\n  RENAME COLUMN name TO title;',
    'alter table users alter column name type bytea;',
    'alter table users alter name set not null;',
    'alter table users add column age int not null;',
    'alter table users add age int not null;',
    'alter table users add column note text, add column age int not null;',
    'alter table users add constraint grown check (age > 17);',
    'create unique index users_name on users (name);',
    'alter view reports.calls rename to all_calls;',
    'drop function touch_consumers(jsonb);',
    'truncate users;',
    'revoke select on users from troupe_app;',
    'create table new_ones (id int); alter table users drop column name;',
    '-- weaker: grown\nalter table users add constraint grown check (age > 17);',
    '-- weaker: grown\nalter table users add constraint other check (age > 17) not valid;',
    '-- weaker: grown\nalter table users add constraint grown unique (name);',
  ]) {
    t.is(faults(text), 1, text);
  }
});

test('a migration that adds is accepted', (t) => {
  for (const text of [
    'create table people (id int not null primary key); create unique index on people (id);',
    "alter table users add column age int not null default 0, add column note text default 'drop table users;';",
    'alter table users alter column name drop not null;',
    'create index users_age on users (age);',
    '-- drop table users;\ncreate or replace view known as select 1;',
    'create table people (id int); alter table people add constraint some check (id > 0);',
    'create or replace function f() returns void language plpgsql as $$ begin delete from users; end $$;',
    '-- weaker: grown\nalter table users add constraint grown check (age > 7) not valid;',
  ]) {
    t.deepEqual(faultsOfMigration(text, released), [], text);
  }
});

test('a contract names a release', (t) => {
  t.is(faults('-- contract: 0.2.0 reads it no more\nalter table users drop column name;'), 0);
  t.is(faults('-- contract: 0.9.0\nalter table users drop column name;'), 1);
});
