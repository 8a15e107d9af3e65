// One owner for each table: the list is in migrations/README.md, the SQL in migrations/ and in the programs.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import test from 'ava';
import { sqlTextsIn, sqlTextsOf } from './support/builders/program-sql.js';
import { readSources } from './support/builders/sources.js';
import { sqlNames } from './support/builders/sql-names.js';
import { crossings, type Owned, ownersIn, type SqlFile } from './support/builders/table-owners.js';

/** Files whose statements leave a relation open, each with the names that fill it. */
const openRelations: Readonly<Record<string, string>> = {
  'cluster/fencing/postgres/one-statement.ts': 'parts of the same statement',
  'src/agents/agents.store.ts': 'a fragment of the file',
  'src/automation/databases/catalogue/count-rows.ts': 'a table of a database that a tenant configured',
  'src/automation/databases/catalogue/try-table.ts': 'a table of a database that a tenant configured',
  'src/automation/inbox/found-messages.store.ts': 'a part of the statement that contains it',
  'src/automation/messages/mail-threads.store.ts': 'a part of the statement that contains it',
  'src/automation/messages/reseal-rows.ts': 'a fragment with a table of the caller',
  'src/automation/sources/database-rows.ts': 'a table of a database that a tenant configured',
  'src/conversations/sessions/row-statements.ts': 'the `name` of an object with `columns`',
  'src/infra/claims/claimed-table.ts': 'a fragment with a table of the caller',
  'src/infra/storage/backup/restore-backup.ts': 'every table: a backup knows them from the catalogue alone',
  'src/infra/storage/backup/write-backup.ts': 'every table: a backup knows them from the catalogue alone',
  'src/infra/storage/batch-target.ts': 'the first argument of `insertText`, or the `table` beside `columns`',
  'src/infra/storage/removal.ts': 'its callers name the table in a fragment',
  'src/models/usage/hours.store.ts': 'parts of the statement that contains it',
  'src/tenancy/keys/use.store.ts': 'arrays of a batch',
  'src/tenancy/quota/monthly-usage.store.ts': 'a part of the statement that contains it',
};

const owned = ownersIn(readFileSync('migrations/README.md', 'utf8'));
const migrations = sqlFilesOf('migrations');
const functions = sqlFilesOf('migrations/functions');
const programs = readSources('src', 'cluster').map(({ path }) => ({ path, texts: sqlTextsOf(path) }));

function sqlFilesOf(folder: string): readonly SqlFile[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.sql'))
    .map((name) => ({ path: `${folder}/${name}`, texts: [readFileSync(`${folder}/${name}`, 'utf8')] }));
}

const creates =
  /\bcreate\s+(?:or\s+replace\s+)?(?:unlogged\s+)?(table|view|materialized\s+view|function|procedure)\s+(?:if\s+not\s+exists\s+)?([\w.]+)/g;

function createdIn({ texts }: SqlFile): readonly { readonly kind: string; readonly name: string }[] {
  return texts.flatMap((text) =>
    [...text.matchAll(creates)].map(([, kind = '', name = '']) => ({ kind, name })),
  );
}

test('the list of owners names each migrated object once', (t) => {
  const created = [...migrations, ...functions].flatMap(createdIn).map(({ name }) => name);
  t.deepEqual(
    owned.map(({ name }) => name).toSorted(),
    // format('create table %I …') in prepare_call_partitions creates partitions, which no statement names.
    created.toSorted(),
  );
  t.deepEqual(
    owned.filter(({ owner }) => !existsSync(owner)).map(({ owner }) => owner),
    [],
  );
});

/** What the file creates or, after a release, changes. */
function namesOf(file: SqlFile): readonly string[] {
  const changed = file.texts.flatMap((text) => [
    ...text.matchAll(
      /\b(?:alter\s+table|(?:index(?:\s+concurrently)?|policy)\s+\w+\s+on|grant\s+[^;]+?\son)\s+([\w.]+)/g,
    ),
  ]);
  return [...createdIn(file).map(({ name }) => name), ...changed.map(([, name = '']) => name)];
}

test('each migration file creates or changes objects of one owner and names it first', (t) => {
  const wrong = [...migrations, ...functions].flatMap((file) => {
    const names = namesOf(file);
    const owners = new Set(owned.filter(({ name }) => names.includes(name)).map(({ owner }) => owner));
    const [owner = ''] = owners;
    const comment = /^(?:--.*\n)+/.exec(file.texts[0] ?? '')?.[0].replaceAll(/\n-- ?/g, ' ') ?? '';
    return owners.size === 1 && comment.includes(`(${owner})`)
      ? []
      : [`${file.path}: ${[...owners].join(', ')}`];
  });
  t.deepEqual(wrong, []);
});

test('only its owner names a table; others use what it publishes', (t) => {
  const ofMigrations = [...migrations, ...functions].map((file) => {
    const names = namesOf(file);
    return { ...file, folder: owned.find(({ name }) => names.includes(name))?.owner ?? '' };
  });
  t.deepEqual(crossings(owned, [...programs, ...ofMigrations]), []);
});

test('only telemetry reads the reports, and it reads nothing else', (t) => {
  const relations = new Set(owned.map(({ name }) => name));
  const wrong = programs.flatMap(({ path, texts }) =>
    texts
      .flatMap(sqlNames)
      .filter(({ name, use }) => use === 'row' && relations.has(name))
      .filter(({ name }) => name.startsWith('reports.') !== path.startsWith('src/models/telemetry/'))
      .map(({ name }) => `${path}: ${name}`),
  );
  t.deepEqual(wrong, []);
});

test('row level security binds the readers of every view', (t) => {
  const texts = [...migrations, ...functions].flatMap(({ path, texts: all }) =>
    all.flatMap((text) =>
      [...text.matchAll(/\bcreate[^;]*?\bview\b[^;]*/g)].map(([view]) => ({ path, view })),
    ),
  );
  t.true(texts.length > 0);
  t.deepEqual(
    texts.filter(({ view }) => !/ with \(security_invoker = true\) as/.test(view)).map(({ path }) => path),
    [],
  );
});

test('statements with an open relation are listed', (t) => {
  const open = programs
    .filter(({ texts }) => texts.some((text) => sqlNames(text).some(({ use }) => use === 'gap')))
    .map(({ path }) => path);
  t.deepEqual(open.toSorted(), Object.keys(openRelations).toSorted());
});

const example: readonly Owned[] = ownersIn(`
| owner | tables | own functions | published |
|---|---|---|---|
| \`src/a\` | \`books\` \`pages\` | \`bind\` | \`open_books\` \`lend\` |
| \`src/b\` | \`readers\` | | |
`);

const bad: Readonly<Record<string, string>> = {
  'a join': 'select * from readers r\n  left join\n books b on b.reader = r.id',
  'a list': 'select * from readers r, only books as b where true',
  'a subselect': 'select (select count(*) from pages) from readers',
  'a common table expression': 'with some as materialized (select * from books) select * from some',
  'a common table expression of the same name': 'with books as (select * from books) select 1',
  'an insert': 'insert into books (id) values (1)',
  'an update of a list': 'update readers set name = b.name from (select 1) x, books b',
  'a delete': 'delete from only public.books',
  'a delete by another table': 'delete from readers using books where true',
  'a truncation': 'truncate readers, pages',
  'upper case': 'SELECT * FROM Books',
  'a lock': 'lock table books in share mode',
  'a merge': 'merge into readers using books on true when matched then delete',
  'a lateral': 'select from readers cross join lateral (select from "books") s',
  'a row type': 'select null::books',
  'a text': "execute format('select * from %I.x, books', place)",
  'a name as text': "select 'books'::regclass",
  'a policy': 'create policy p on books using (true)',
  'an index': 'create index i on books (id)',
  'a grant': 'grant select on books to somebody',
  'a comment in between': 'select * from -- these\n /* are */ books',
  'a function of another owner': 'select bind(id) from readers',
};

const good: Readonly<Record<string, string>> = {
  'a published view': 'select * from readers join open_books b using (id)',
  'a published function': 'select lend(id) from readers',
  'a foreign key': 'create table x (book uuid references books (id) on delete cascade)',
  'a trigger': 'create trigger t after delete on books for each row execute function f()',
  'columns and aliases': 'select r.books, pages from readers r where r.books > 1 order by books',
  'a condition': 'select from readers books join readers r on books.id = r.id',
  'an argument': 'select from unnest(books, pages) as g (books, pages)',
  'a comment': 'select 1 from readers -- from books',
  'a comparison': 'select 1 from readers where x is distinct from 1 and extract(epoch from y) > 0',
};

for (const [what, text] of Object.entries(bad)) {
  test(`${what} that names another owner's table is found`, (t) => {
    const found = crossings(example, [{ path: 'src/b/x.ts', texts: [text] }]);
    t.is(found.length, 1);
    t.regex(found[0] ?? '', /^src\/b\/x\.ts names (?:books|pages|bind), which src\/a owns/);
  });
}

for (const [what, text] of Object.entries(good)) {
  test(`${what}: not a use of another owner's table`, (t) => {
    t.deepEqual(crossings(example, [{ path: 'src/b/x.ts', texts: [text] }]), []);
  });
}

test('the SQL of a program is found in every form of text', (t) => {
  const script = `
    // from comments
    const a = sql.type(row)\`select \${columns} from one where id = \${id}\`;
    const b = sql.fragment\`two\`;
    const c = { text: 'select * from three' };
    const d = (parts) => \`with \${parts} select * from four\`;
    const e = upsert({ name: 'five', columns: {}, key: [] });
    const f = insertTarget({ table: 'six', columns: {} });
    const g = \`x \${insertText('seven', columns)}\`;
    const h = "An English sentence from somewhere.";
    const i = sql.unsafe\`delete from\\n eight\`;
    const j = sql.fragment\`nine n join ten t on true\`;`;
  const found = sqlTextsIn(script)
    .flatMap(sqlNames)
    .filter(({ use }) => use === 'row');
  const names = new Set(found.map(({ name }) => name));
  t.deepEqual(
    ['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten', 'comments'].filter(
      (name) => !names.has(name),
    ),
    ['comments'],
  );
});
