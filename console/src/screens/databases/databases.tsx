import { createLazyRoute, Link, useNavigate } from '@tanstack/react-router';
import { Plus } from 'lucide-react';
import { api, take } from '../../api/client';
import { usePages } from '../../api/queries';
import { useAllowed } from '../../session/use-session';
import { Badge } from '../../ui/badge';
import { buttonClass } from '../../ui/button';
import { CheckField } from '../../ui/check-field';
import { CopyAs } from '../../ui/copy-as';
import { type Column, PagedTable } from '../../ui/data-table';
import { Page } from '../../ui/page';
import { Empty, Forbidden } from '../../ui/states';
import { Time } from '../../ui/time';
import type { DatabaseRow } from './database-data';

export const Route = createLazyRoute('/frame/databases')({ component: Databases });

/** The tenant's PostgreSQL databases that triggers read. */
function Databases() {
  const { deleted } = Route.useSearch();
  const navigate = useNavigate({ from: '/databases' });
  const [mayRead, mayCreate] = [useAllowed('databases:read'), useAllowed('databases:create')];
  const pages = usePages(
    ['databases', 'list', deleted === true],
    async (cursor, signal) => {
      const query = { limit: 50, cursor, ...(deleted === true && { includeDeleted: true }) };
      const answer = await take(api.GET('/api/database-configs', { params: { query }, signal }));
      return { rows: answer.data, next: answer.next_cursor ?? undefined };
    },
    { enabled: mayRead },
  );
  if (!mayRead) {
    return (
      <Page title="Databases">
        <Forbidden what="databases" />
      </Page>
    );
  }
  const add = mayCreate && (
    <Link to="/databases/new" className={buttonClass('primary')}>
      <Plus size={14} aria-hidden />
      Connect a database
    </Link>
  );
  return (
    <Page
      title="Databases"
      description="PostgreSQL databases of the tenant. Triggers start turns for new rows, over read-only connections."
      actions={
        <>
          <CopyAs
            request={{
              method: 'GET',
              path: '/api/database-configs',
              mcp: { tool: 'list_database_configs', arguments: {} },
            }}
          />
          {add}
        </>
      }
    >
      <CheckField
        label="Show deleted ones"
        checked={deleted === true}
        onChange={({ target }) =>
          void navigate({ search: { deleted: target.checked ? true : undefined }, replace: true })
        }
      />
      <PagedTable
        pages={pages}
        caption="Databases"
        columns={columns}
        keyOf={({ id }) => id}
        empty={
          <Empty title="No databases yet">
            <p>Connect one to see its tables here, and to start turns when rows arrive.</p>
            {add}
          </Empty>
        }
      />
    </Page>
  );
}

function Name({ database: { id, name, deleted_at: deletedAt } }: { readonly database: DatabaseRow }) {
  if (deletedAt !== undefined && deletedAt !== null)
    return <span className="wrap-anywhere text-muted line-through">{name}</span>;
  return (
    <Link
      to="/databases/$databaseId"
      params={{ databaseId: id }}
      className="wrap-anywhere text-accent hover:underline"
    >
      {name}
    </Link>
  );
}

function State({ database }: { readonly database: DatabaseRow }) {
  if (database.deleted_at !== undefined && database.deleted_at !== null) return <Badge>deleted</Badge>;
  return (
    <span className="flex flex-wrap gap-1">
      <Badge tone={database.is_active ? 'good' : 'neutral'}>{database.is_active ? 'active' : 'paused'}</Badge>
      {database.is_primary && <Badge tone="accent">primary</Badge>}
    </span>
  );
}

const columns: readonly Column<DatabaseRow>[] = [
  { title: 'Name', cell: (database) => <Name database={database} /> },
  { title: 'State', cell: (database) => <State database={database} /> },
  { title: 'Connected', wideOnly: true, cell: ({ created_at: at }) => <Time at={at} /> },
];
