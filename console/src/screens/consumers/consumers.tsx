import type { paths } from '#api/openapi';
import { createLazyRoute, Link, useNavigate } from '@tanstack/react-router';
import { api, take } from '../../api/client';
import { usePages } from '../../api/queries';
import { withQuery } from '../../api/with-query';
import { useAllowed } from '../../session/use-session';
import { Badge } from '../../ui/badge';
import { channelName } from '../../ui/channel';
import { CopyAs } from '../../ui/copy-as';
import { type Column, PagedTable } from '../../ui/data-table';
import { Filters, FilterSelect, FilterText } from '../../ui/filters';
import { count } from '../../ui/numbers';
import { Page } from '../../ui/page';
import { Empty, Forbidden } from '../../ui/states';
import { Time } from '../../ui/time';
import type { ConsumersSearch } from './routes';
import { useConsumerEvents } from './use-consumer-events';

export const Route = createLazyRoute('/frame/consumers')({ component: ConsumersScreen });

type Row = paths['/api/v1/consumers']['get']['responses'][200]['content']['application/json']['data'][number];

const columns: readonly Column<Row>[] = [
  {
    title: 'Person',
    cell: ({ consumer_key: key, display_name: name, blocked: denied }) => (
      <span className="flex items-center gap-2">
        <Link
          to="/consumers/$key"
          params={{ key }}
          className="block max-w-72 truncate text-accent hover:underline max-sm:max-w-40"
        >
          {name ?? key}
        </Link>
        {denied && <Badge tone="bad">denied</Badge>}
      </span>
    ),
  },
  {
    title: 'Key',
    wideOnly: true,
    cell: ({ consumer_key: key }) => (
      <code className="block max-w-60 truncate text-xs text-muted">{key}</code>
    ),
  },
  { title: 'Channels', wideOnly: true, cell: ({ channels }) => channels.map(channelName).join(', ') },
  { title: 'Conversations', numeric: true, cell: ({ total_sessions: n }) => count(n) },
  { title: 'Turns', numeric: true, wideOnly: true, cell: ({ total_turns: n }) => count(n) },
  { title: 'Last seen', numeric: true, cell: ({ last_seen: at }) => <Time at={at} /> },
];

function ConsumersScreen() {
  return useAllowed('consumers:read') ? <Consumers /> : <Forbidden what="consumers" />;
}

function Consumers() {
  const { words, blocked } = Route.useSearch();
  const navigate = useNavigate();
  useConsumerEvents();
  const query = {
    ...(words !== undefined && { search: words }),
    ...(blocked !== undefined && { blocked: blocked === 'true' }),
  };
  const shown = { ...(words !== undefined && { search: words }), ...(blocked !== undefined && { blocked }) };
  const pages = usePages(['consumers', query], async (cursor, signal) => {
    const params = { query: { ...query, limit: 50, ...(cursor !== undefined && { cursor }) } };
    const { data, next_cursor } = await take(api.GET('/api/v1/consumers', { params, signal }));
    return { rows: data, next: next_cursor ?? undefined };
  });
  const change = (filters: { words?: string | undefined; blocked?: string | undefined }): void =>
    void navigate({
      to: '/consumers',
      search: (old) => ({ ...old, ...filters }) as ConsumersSearch,
      replace: true,
    });
  return (
    <Page
      title="Consumers"
      description="The people that your integrations and channels name."
      actions={
        <CopyAs
          request={{
            method: 'GET',
            path: withQuery('/api/v1/consumers', shown),
            mcp: { tool: 'list_consumers', arguments: query },
          }}
        />
      }
    >
      <Filters>
        <FilterText
          label="Search keys and names"
          value={words}
          onChange={(text) => change({ words: text })}
        />
        <FilterSelect
          label="Denied"
          value={blocked}
          options={[
            ['true', 'Denied'],
            ['false', 'Not denied'],
          ]}
          onChange={(value) => change({ blocked: value })}
        />
      </Filters>
      <PagedTable
        caption="Consumers"
        pages={pages}
        keyOf={({ consumer_key: key }) => key}
        empty={
          words === undefined && blocked === undefined ? (
            <Empty title="No consumers yet">
              <p>
                They appear once a message names its person: a channel, or `consumer_key` of an integration.
              </p>
            </Empty>
          ) : (
            <Empty title="No consumer matches" />
          )
        }
        columns={columns}
      />
    </Page>
  );
}
