import pg from 'pg';

/**
 * A connection as the owner of the tables that sees every tenant's rows, which the walls otherwise hide from the owner
 * too. Only for a test's own database: the roles of the application stay bound.
 */
export async function ownerView(databaseUrl: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  const { rows } = await client.query<{ name: string }>(
    'select quote_ident(relname) as name from pg_class where relforcerowsecurity',
  );
  for (const { name } of rows) await client.query(`alter table ${name} no force row level security`);
  return client;
}

/** A connection that reads and writes the rows of one tenant, as nodes do. */
export async function tenantView(node: {
  readonly databaseUrl: string;
  readonly bootstrap: { readonly tenant_id: string };
}): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: node.databaseUrl });
  await client.connect();
  await client.query('set role troupe_app');
  await client.query(`select set_config('troupe.tenant_id', $1, false)`, [node.bootstrap.tenant_id]);
  return client;
}

/** Every row of every table as a line of text, bytes in hexadecimal. */
export async function dump(client: pg.Client): Promise<string> {
  let text = '';
  for (const table of await tablesOf(client)) {
    const { rows } = await client.query<{ row: string }>(`select t::text as row from ${table} t`);
    // A text with lines of its own could look like the head of a table.
    const lines = rows.map(({ row }) => row.replaceAll('\n', String.raw`\n`));
    text += [`${table}:`, ...lines, ''].join('\n');
  }
  return text;
}

async function tablesOf(client: pg.Client): Promise<readonly string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select quote_ident(table_name) as name from information_schema.tables
     where table_schema = 'public' and table_type = 'BASE TABLE'`,
  );
  return rows.map(({ name }) => name);
}
