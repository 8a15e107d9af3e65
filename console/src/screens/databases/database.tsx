import { createLazyRoute } from '@tanstack/react-router';
import { useAllowed } from '../../session/use-session';
import { Badge } from '../../ui/badge';
import { CopyAs } from '../../ui/copy-as';
import { Page } from '../../ui/page';
import { Forbidden, Loaded } from '../../ui/states';
import { Tabs } from '../../ui/tabs';
import { type Database, useDatabase } from './database-data';
import { DeleteDatabase } from './delete-database';
import { Connection } from './edit-connection';
import type { DatabaseTab } from './routes';
import { SchemaBrowser } from './schema-browser';
import { Uses } from './uses';

export const Route = createLazyRoute('/frame/databases/$databaseId')({ component: DatabaseScreen });

function DatabaseScreen() {
  const { databaseId } = Route.useParams();
  return useAllowed('databases:read') ? (
    <One key={databaseId} id={databaseId} />
  ) : (
    <Page title="Database">
      <Forbidden what="databases" />
    </Page>
  );
}

function One({ id }: { readonly id: string }) {
  const query = useDatabase(id);
  return <Loaded query={query}>{({ data }) => <DatabasePage database={data} />}</Loaded>;
}

function DatabasePage({ database }: { readonly database: Database }) {
  const { tab = 'schema' } = Route.useSearch();
  const navigate = Route.useNavigate();
  const mayDelete = useAllowed('databases:delete');
  const { id, name, connection_config: place, is_active: isActive, is_primary: isPrimary } = database;
  return (
    <Page
      title={name}
      description={
        <span className="flex flex-wrap items-center gap-2">
          <Badge tone={isActive ? 'good' : 'neutral'}>{isActive ? 'active' : 'paused'}</Badge>
          {isPrimary && <Badge tone="accent">primary</Badge>}
          <code className="font-mono text-xs wrap-anywhere">
            {place.host}:{place.port}/{place.database}
          </code>
        </span>
      }
      actions={
        <>
          <CopyAs
            request={{
              method: 'GET',
              path: `/api/database-configs/${id}`,
              mcp: { tool: 'get_database_config', arguments: { config_id: id } },
            }}
          />
          {mayDelete && <DeleteDatabase database={database} />}
        </>
      }
    >
      <Tabs
        label="Parts of the database"
        value={tab}
        onChange={(next: DatabaseTab) => void navigate({ search: { tab: next }, replace: true })}
        tabs={[
          { value: 'schema', title: 'Tables', content: <SchemaBrowser database={database} /> },
          {
            value: 'connection',
            title: 'Connection',
            content: <Connection database={database} />,
            keeps: true,
          },
          { value: 'uses', title: 'Used by', content: <Uses id={id} /> },
        ]}
      />
    </Page>
  );
}
