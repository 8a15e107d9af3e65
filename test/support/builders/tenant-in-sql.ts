// Reads a statement with PostgreSQL's own parser and finds the tables of tenants that it does not bind to a tenant: what
// Citus would have to ask on every shard.
import { loadModule, parsePlPgSQLSync, parseSync } from 'libpg-query';

type Tree = Readonly<Record<string, unknown>>;

export interface UnboundTable {
  readonly table: string;
  readonly alias: string;
}

await loadModule();

/** `tenantTables`: names of tables and views with a column `tenant_id`. */
export function unboundTables(text: string, tenantTables: ReadonlySet<string>): readonly UnboundTable[] {
  const found: UnboundTable[] = [];
  const { stmts = [] } = parseSync(text) as { readonly stmts?: readonly { readonly stmt?: unknown }[] };
  for (const { stmt } of stmts) readStatement(stmt, new Set(), tenantTables, found);
  return found;
}

/** Names of the functions that it calls. */
export function functionsIn(text: string): readonly string[] {
  const names = new Set<string>();
  const visit = (node: unknown): void => {
    if (isTree(node) && isTree(node['FuncCall'])) names.add(lastName(node['FuncCall']['funcname']));
    for (const child of childrenOf(node)) visit(child);
  };
  visit(parseSync(text));
  return [...names];
}

/** The statements in the body of a function, given the statement that creates it. */
export function statementsOfFunction(text: string): readonly string[] {
  const bodies: string[] = [];
  const visit = (node: unknown): void => {
    const created = isTree(node) ? node['CreateFunctionStmt'] : undefined;
    if (isTree(created)) bodies.push(...bodyOf(created, text));
    else for (const child of childrenOf(node)) visit(child);
  };
  visit(parseSync(text));
  return bodies.filter((body) => /^\s*(?:with|select|insert|update|delete)\b/i.test(body));
}

function bodyOf(created: Tree, text: string): readonly string[] {
  const options = new Map(
    listOf(created['options']).flatMap((one) =>
      isTree(one) && isTree(one['DefElem'])
        ? [[one['DefElem']['defname'], one['DefElem']['arg']] as const]
        : [],
    ),
  );
  if (stringOf(options.get('language')) !== 'plpgsql') {
    const as = options.get('as');
    return listOf(isTree(as) && isTree(as['List']) ? as['List']['items'] : undefined).map(stringOf);
  }
  const queries: string[] = [];
  const visit = (node: unknown): void => {
    if (isTree(node) && typeof node['query'] === 'string') queries.push(node['query']);
    for (const child of childrenOf(node)) visit(child);
  };
  visit(parsePlPgSQLSync(text));
  return queries;
}

const kinds = ['SelectStmt', 'InsertStmt', 'UpdateStmt', 'DeleteStmt'] as const;

function readStatement(
  node: unknown,
  outer: ReadonlySet<string>,
  tenantTables: ReadonlySet<string>,
  found: UnboundTable[],
): void {
  if (!isTree(node)) {
    for (const child of childrenOf(node)) readStatement(child, outer, tenantTables, found);
    return;
  }
  const kind = kinds.find((one) => isTree(node[one]));
  if (kind === undefined) {
    for (const child of childrenOf(node)) readStatement(child, outer, tenantTables, found);
    return;
  }
  const statement = node[kind] as Tree;
  const ctes = new Set(outer);
  const withClause = statement['withClause'];
  for (const cte of listOf(isTree(withClause) ? withClause['ctes'] : undefined)) {
    if (isTree(cte) && isTree(cte['CommonTableExpr'])) ctes.add(String(cte['CommonTableExpr']['ctename']));
  }
  if (kind === 'InsertStmt') readInsert(statement, ctes, tenantTables, found);
  else readScope(statement, kind, ctes, tenantTables, found);
  for (const [name, child] of Object.entries(statement)) {
    // The halves of a union are statements without the name of one.
    const part = name === 'larg' || name === 'rarg' ? { SelectStmt: child } : child;
    readStatement(part, ctes, tenantTables, found);
  }
}

function readInsert(
  { relation, cols }: Tree,
  ctes: ReadonlySet<string>,
  tenantTables: ReadonlySet<string>,
  found: UnboundTable[],
): void {
  const table = isTree(relation) ? tableName(relation) : '';
  if (ctes.has(table) || !tenantTables.has(table)) return;
  const names = listOf(cols).map((one) =>
    isTree(one) && isTree(one['ResTarget']) ? one['ResTarget']['name'] : '',
  );
  if (!names.includes('tenant_id')) found.push({ table, alias: table });
}

function readScope(
  statement: Tree,
  kind: 'SelectStmt' | 'UpdateStmt' | 'DeleteStmt',
  ctes: ReadonlySet<string>,
  tenantTables: ReadonlySet<string>,
  found: UnboundTable[],
): void {
  const from = [...listOf(statement['fromClause']), ...listOf(statement['usingClause'])];
  const tables: UnboundTable[] = [];
  const conditions: unknown[] = [statement['whereClause']];
  let joinsByTenant = false;
  const visitFrom = (node: unknown): void => {
    if (!isTree(node)) return;
    if (isTree(node['RangeVar'])) addTable(node['RangeVar']);
    const join = node['JoinExpr'];
    if (!isTree(join)) return;
    visitFrom(join['larg']);
    visitFrom(join['rarg']);
    conditions.push(join['quals']);
    if (listOf(join['usingClause']).some((one) => stringOf(one) === 'tenant_id')) joinsByTenant = true;
  };
  const addTable = (range: Tree): void => {
    const table = tableName(range);
    if (ctes.has(table) || !tenantTables.has(table)) return;
    const { alias } = range;
    tables.push({
      table,
      alias: isTree(alias) ? String(alias['aliasname']) : (table.split('.').at(-1) ?? table),
    });
  };
  if (kind !== 'SelectStmt' && isTree(statement['relation'])) addTable(statement['relation']);
  for (const one of from) visitFrom(one);
  const named = tenantsNamedIn(conditions);
  for (const table of tables) {
    if (!joinsByTenant && !named.has('') && !named.has(table.alias)) found.push(table);
  }
}

/** The qualifiers of `tenant_id` in comparisons; empty for none. */
function tenantsNamedIn(conditions: readonly unknown[]): ReadonlySet<string> {
  const named = new Set<string>();
  const visit = (node: unknown, inComparison: boolean): void => {
    if (!isTree(node)) {
      for (const child of childrenOf(node)) visit(child, inComparison);
      return;
    }
    // A subselect has conditions of its own.
    if (isTree(node['SelectStmt'])) return;
    // `a or b` binds nothing, unless both sides do; `not` never does.
    const logic = node['BoolExpr'];
    if (isTree(logic) && logic['boolop'] !== 'AND_EXPR') {
      if (logic['boolop'] !== 'OR_EXPR') return;
      const sides = listOf(logic['args']).map((side) => tenantsNamedIn([side]));
      for (const name of sides[0] ?? []) if (sides.every((side) => side.has(name))) named.add(name);
      return;
    }
    const reference = node['ColumnRef'];
    if (isTree(reference)) {
      const fields = listOf(reference['fields']).map(stringOf);
      if (inComparison && fields.at(-1) === 'tenant_id') named.add(fields.at(-2) ?? '');
      return;
    }
    const comparison = node['A_Expr'];
    const link = node['SubLink'];
    const compares =
      (isTree(comparison) && stringOf(listOf(comparison['name'])[0]) === '=') ||
      (isTree(link) && link['subLinkType'] === 'ANY_SUBLINK');
    const isOther = isTree(comparison) && !compares;
    for (const child of childrenOf(node)) visit(child, isOther ? false : inComparison || compares);
  };
  for (const condition of conditions) visit(condition, false);
  return named;
}

function tableName(range: Tree): string {
  const schema = range['schemaname'];
  const name = String(range['relname']);
  return typeof schema === 'string' && schema !== '' && schema !== 'public' ? `${schema}.${name}` : name;
}

function lastName(names: unknown): string {
  return stringOf(listOf(names).at(-1));
}

function stringOf(node: unknown): string {
  const text = isTree(node) && isTree(node['String']) ? node['String']['sval'] : undefined;
  return typeof text === 'string' ? text : '';
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function childrenOf(node: unknown): readonly unknown[] {
  if (Array.isArray(node)) return node;
  return isTree(node) ? Object.values(node) : [];
}

function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
