import type { paths } from '#api/openapi';
import { createLazyRoute, Link } from '@tanstack/react-router';
import { useState } from 'react';
import { api, take } from '../../api/client';
import { usePages } from '../../api/queries';
import { useAllowed } from '../../session/use-session';
import { Button } from '../../ui/button';
import { CopyAs } from '../../ui/copy-as';
import { type Column, PagedTable } from '../../ui/data-table';
import { Page } from '../../ui/page';
import { Empty, Forbidden } from '../../ui/states';
import { Time } from '../../ui/time';
import { DenyButton } from './deny-button';
import { DenyDialog } from './deny-dialog';
import { useConsumerEvents } from './use-consumer-events';

export const Route = createLazyRoute('/frame/denylist')({ component: DenylistScreen });

type Row = paths['/api/v1/denylist']['get']['responses'][200]['content']['application/json']['data'][number];

const columns: readonly Column<Row>[] = [
  {
    title: 'Person',
    cell: ({ consumer_key: key, display_name: name }) => (
      <Link
        to="/consumers/$key"
        params={{ key }}
        className="block max-w-60 truncate text-accent hover:underline max-sm:max-w-32"
      >
        {name ?? key}
      </Link>
    ),
  },
  {
    title: 'Reason',
    cell: ({ blocked_reason: reason }) => (
      <span className="line-clamp-2 max-w-96 wrap-anywhere">{reason ?? '–'}</span>
    ),
  },
  {
    title: 'By',
    wideOnly: true,
    cell: ({ blocked_by: by }) => <code className="text-xs">{by ?? '–'}</code>,
  },
  { title: 'Since', wideOnly: true, cell: ({ blocked_at: at }) => <Time at={at} /> },
  {
    title: 'Action',
    numeric: true,
    cell: ({ consumer_key: key }) => <DenyButton consumerKey={key} blocked />,
  },
];

function DenylistScreen() {
  return useAllowed('telemetry:write') ? <Denylist /> : <Forbidden what="the denylist" />;
}

function Denylist() {
  const [asking, setAsking] = useState(false);
  useConsumerEvents();
  const pages = usePages(['denylist'], async (cursor, signal) => {
    const params = { query: { limit: 50, ...(cursor !== undefined && { cursor }) } };
    const { data, next_cursor } = await take(api.GET('/api/v1/denylist', { params, signal }));
    return { rows: data, next: next_cursor ?? undefined };
  });
  const deny = (
    <Button kind="primary" onClick={() => setAsking(true)}>
      Deny a person
    </Button>
  );
  return (
    <Page
      title="Denylist"
      description="People that no agent of the tenant answers."
      actions={
        <>
          <CopyAs
            request={{
              method: 'GET',
              path: '/api/v1/denylist',
              mcp: { tool: 'list_denied_consumers', arguments: {} },
            }}
          />
          {deny}
        </>
      }
    >
      <PagedTable
        caption="Denied people"
        pages={pages}
        keyOf={({ consumer_key: key }) => key}
        empty={
          <Empty title="Nobody is denied">
            <p>Deny a person here, beside a conversation, or at the person’s page.</p>
          </Empty>
        }
        columns={columns}
      />
      {asking && <DenyDialog onClose={() => setAsking(false)} />}
    </Page>
  );
}
