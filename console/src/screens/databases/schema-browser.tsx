import { useMutation } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { RefreshCw } from 'lucide-react';
import { api, take } from '../../api/client';
import { queries, useKey } from '../../api/queries';
import { useAllowed } from '../../session/use-session';
import { Badge } from '../../ui/badge';
import { Button } from '../../ui/button';
import { CopyButton } from '../../ui/copy-button';
import { type Column, DataTable } from '../../ui/data-table';
import { FormProblem } from '../../ui/field';
import { Filters, FilterText } from '../../ui/filters';
import { count } from '../../ui/numbers';
import { Empty } from '../../ui/states';
import { Time } from '../../ui/time';
import type { Database, Schema, Table } from './database-data';

const route = getRouteApi('/frame/databases/$databaseId');
const shownMax = 500;
const staleAfterMs = 24 * 3_600_000;

/** The tables on the left, the columns of one of them on the right. */
export function SchemaBrowser({ database }: { readonly database: Database }) {
  const { id, schema, last_refresh: readAt } = database;
  const mayUpdate = useAllowed('databases:update');
  const key = useKey('databases');
  const refresh = useMutation({
    mutationFn: () =>
      take(api.POST('/api/database-configs/{id}/refresh-schema', { params: { path: { id } } })),
    onSuccess: () => queries.invalidateQueries({ queryKey: key }),
  });
  const button = mayUpdate && (
    <Button
      icon={<RefreshCw size={14} aria-hidden />}
      kind={schema === null ? 'primary' : 'secondary'}
      busy={refresh.isPending}
      onClick={() => refresh.mutate()}
    >
      {schema === null ? 'Read the tables' : 'Read again'}
    </Button>
  );
  if (schema === null) {
    return (
      <Empty title="The tables were not read yet">
        <p>Troupe reads names and types of columns, and no rows.</p>
        {button}
        <FormProblem error={refresh.error} />
      </Empty>
    );
  }
  return (
    <div className="flex min-w-0 flex-col gap-3">
      <div className="flex flex-wrap items-center gap-3 text-sm text-muted">
        <span>
          {count(schema.tables.length)} {schema.tables.length === 1 ? 'table' : 'tables'}, read{' '}
          <Time at={readAt} />
        </span>
        {isStale(readAt) && <Badge tone="warn">may have changed since</Badge>}
        {schema.truncated === true && <Badge tone="warn">there are more tables</Badge>}
        {button}
      </div>
      <FormProblem error={refresh.error} />
      <Tables schema={schema} />
    </div>
  );
}

const isStale = (at: string | null): boolean =>
  at !== null && Date.now() - new Date(at).getTime() > staleAfterMs;

const nameOf = ({ schema, name }: Table): string => `${schema}.${name}`;

function Tables({ schema }: { readonly schema: Schema }) {
  const { search, table } = route.useSearch();
  const navigate = route.useNavigate();
  const words = (search ?? '').toLowerCase();
  const found = schema.tables.filter(
    (one) =>
      nameOf(one).toLowerCase().includes(words) ||
      one.columns.some(({ name }) => name.toLowerCase().includes(words)),
  );
  const shown = schema.tables.find((one) => nameOf(one) === table) ?? found[0];
  const open = (next: { readonly search?: string | undefined; readonly table?: string | undefined }) =>
    void navigate({ search: { tab: 'schema', search, table, ...next }, replace: true });
  return (
    <div className="grid min-w-0 items-start gap-4 md:grid-cols-[16rem_minmax(0,1fr)]">
      <div className="flex min-w-0 flex-col gap-2">
        <Filters>
          <FilterText label="Table or column" value={search} onChange={(next) => open({ search: next })} />
        </Filters>
        <nav
          aria-label="Tables"
          className="max-h-52 overflow-y-auto rounded-lg border border-line bg-surface md:max-h-[60dvh]"
        >
          <ul className="text-sm">
            {found.slice(0, shownMax).map((one) => (
              <li key={nameOf(one)} className="border-b border-line last:border-0">
                <button
                  type="button"
                  aria-current={one === shown || undefined}
                  className="flex w-full items-baseline gap-2 px-3 py-1.5 text-left -outline-offset-2 hover:bg-hover aria-current:bg-accent-soft aria-current:text-accent"
                  onClick={() => open({ table: nameOf(one) })}
                >
                  <span className="min-w-0 flex-1 font-mono wrap-anywhere">{nameOf(one)}</span>
                  <span className="text-xs text-muted">{one.columns.length}</span>
                </button>
              </li>
            ))}
          </ul>
          {found.length === 0 && <p className="p-3 text-sm text-muted">No table or column is called so.</p>}
          {found.length > shownMax && (
            <p className="p-3 text-xs text-muted">
              {count(shownMax)} of {count(found.length)}. Write a part of the name.
            </p>
          )}
        </nav>
      </div>
      {shown !== undefined && <Columns table={shown} />}
    </div>
  );
}

const columns: readonly Column<Table['columns'][number]>[] = [
  { title: 'Column', cell: ({ name }) => <span className="font-mono wrap-anywhere">{name}</span> },
  { title: 'Type', cell: ({ type }) => <span className="font-mono wrap-anywhere">{type}</span> },
  {
    title: 'May be empty',
    cell: ({ nullable }) => (nullable ? 'yes' : <span className="text-muted">no</span>),
  },
];

function Columns({ table }: { readonly table: Table }) {
  return (
    <div className="flex min-w-0 flex-col gap-2">
      <h2 className="flex items-center gap-1 font-mono text-sm wrap-anywhere">
        {nameOf(table)}
        <CopyButton text={nameOf(table)} label="Copy the name of the table" />
      </h2>
      {table.columns.length === 0 ? (
        <p className="text-sm text-muted">The table has no columns.</p>
      ) : (
        <DataTable
          caption={`Columns of ${nameOf(table)}`}
          columns={columns}
          rows={table.columns}
          keyOf={({ name }) => name}
        />
      )}
    </div>
  );
}
