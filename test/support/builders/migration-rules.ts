// What a migration after a release may do while nodes of that release run on: expand only. A file that takes something
// away names the release since which nothing reads it: `-- contract: 0.2.0`. A check that asks for a part of those that the
// same file drops forbids older nodes nothing: `-- weaker: its_name`.

export interface MigrationFault {
  readonly statement: string;
  readonly why: string;
}

interface Rule {
  readonly pattern: RegExp;
  readonly why: string;
  /** Allowed on what the same file creates. */
  readonly isFreeOnNew: boolean;
}

const rules: readonly Rule[] = [
  {
    pattern: /^drop (?!trigger if exists|policy if exists)/,
    why: 'older nodes may use what it drops',
    isFreeOnNew: false,
  },
  {
    pattern: /^alter table .*\b(?:drop column|drop constraint|rename)\b/,
    why: 'older nodes name it',
    isFreeOnNew: false,
  },
  {
    pattern: /^alter (?:view|function|type|sequence|schema|index) .*\b(?:rename|set schema)\b/,
    why: 'older nodes name it',
    isFreeOnNew: false,
  },
  {
    pattern: /^alter table .*\balter (?:column )?\w+ (?:set data )?type\b/,
    why: 'older nodes read and write the former type',
    isFreeOnNew: true,
  },
  {
    pattern: /^alter table .*\balter (?:column )?\w+ (?:set not null|drop default)\b/,
    why: 'older nodes may leave the column out',
    isFreeOnNew: true,
  },
  {
    pattern: /^alter table .*\badd (?:constraint|check|unique|foreign key|primary key|exclude)\b/,
    why: 'older nodes may write rows that it forbids',
    isFreeOnNew: true,
  },
  {
    pattern: /^create unique index/,
    why: 'older nodes may write rows that it forbids',
    isFreeOnNew: true,
  },
  { pattern: /^(?:truncate|delete from)\b/, why: 'older nodes may read the rows', isFreeOnNew: true },
  { pattern: /^revoke\b/, why: 'older nodes use the grant', isFreeOnNew: true },
];

/** `releases` are the versions that a contract may name. */
export function faultsOfMigration(text: string, releases: readonly string[]): readonly MigrationFault[] {
  const contract = /^-- contract: (\S+)/m.exec(text)?.[1];
  if (contract !== undefined) {
    return releases.includes(contract)
      ? []
      : [{ statement: `-- contract: ${contract}`, why: `the releases are ${releases.join(', ')}` }];
  }
  const statements = statementsOf(text);
  const created = new Set(
    statements.flatMap((one) => /^create table (?:if not exists )?([\w.]+)/.exec(one)?.[1] ?? []),
  );
  const weaker = [...text.matchAll(/^-- weaker: (\w+)$/gm)].map(([, name]) => name);
  return statements.flatMap((statement) => {
    const check = /^alter table \w+ add constraint (\w+) check .* not valid$/.exec(statement)?.[1];
    if (check !== undefined && weaker.includes(check)) return [];
    const isNew = created.has(tableOf(statement) ?? '');
    const why =
      rules.find(({ pattern, isFreeOnNew }) => pattern.test(statement) && !(isFreeOnNew && isNew))?.why ??
      (isNew ? undefined : faultOfAddedColumns(statement));
    return why === undefined ? [] : [{ statement, why }];
  });
}

function tableOf(statement: string): string | undefined {
  return /^(?:alter table (?:if exists )?(?:only )?|truncate (?:table )?|delete from |create unique index (?:.*? )?on (?:only )?|revoke .* on (?:table )?)([\w.]+)/.exec(
    statement,
  )?.[1];
}

/** A column that older nodes do not know needs a value when they leave it out. */
function faultOfAddedColumns(statement: string): string | undefined {
  if (!statement.startsWith('alter table ')) return undefined;
  const added = statement.split(/\badd (?!constraint|check|unique|foreign key|primary key|exclude)/).slice(1);
  return added.some(
    (one) => /\bnot null\b|\bprimary key\b/.test(one) && !/\bdefault\b|\bgenerated\b/.test(one),
  )
    ? 'older nodes leave the column out; add a default, or allow null'
    : undefined;
}

/** In small letters, with single spaces, without comments; quoted text and bodies of functions are emptied. */
function statementsOf(text: string): readonly string[] {
  return text
    .replaceAll(/(\$\w*\$)[\s\S]*?\1/g, "''")
    .replaceAll(/'(?:[^']|'')*'/g, "''")
    .replaceAll(/--[^\n]*/g, ' ')
    .replaceAll(/\/\*[\s\S]*?\*\//g, ' ')
    .toLowerCase()
    .split(';')
    .map((statement) => statement.replaceAll(/\s+/g, ' ').trim())
    .filter((statement) => statement !== '');
}
