import type { paths } from '#api/openapi';
import { createLazyRoute, Link, useNavigate } from '@tanstack/react-router';
import { useAgentNames } from '../../api/agent-names';
import { api, take } from '../../api/client';
import { usePages } from '../../api/queries';
import { turnStatuses } from '../../api/turn-statuses';
import { withQuery } from '../../api/with-query';
import { useAllowed } from '../../session/use-session';
import { AgentName } from '../../ui/agent-name';
import { StatusBadge } from '../../ui/badge';
import { CopyAs } from '../../ui/copy-as';
import { type Column, PagedTable } from '../../ui/data-table';
import { Filters, FilterSelect, FilterText } from '../../ui/filters';
import { LivenessMark } from '../../ui/liveness-mark';
import { count, dollars } from '../../ui/numbers';
import { Page } from '../../ui/page';
import { Empty, Forbidden } from '../../ui/states';
import { duration, Time } from '../../ui/time';
import type { TurnsSearch } from './search';

export const Route = createLazyRoute('/frame/turns')({ component: TurnsScreen });

type Row =
  paths['/api/v1/executions']['get']['responses'][200]['content']['application/json']['data'][number];

const columns: readonly Column<Row>[] = [
  {
    title: 'Began',
    cell: ({ id, started_at: at }) => (
      <Link to="/turns/$executionId" params={{ executionId: id }} className="text-accent hover:underline">
        {at === null ? 'not yet' : <Time at={at} />}
      </Link>
    ),
  },
  { title: 'Status', cell: ({ status: one }) => <StatusBadge status={one} /> },
  { title: 'Agent', cell: ({ agent_id: id }) => <AgentName id={id} /> },
  { title: 'Model', wideOnly: true, cell: ({ model }) => model ?? '–' },
  {
    title: 'Time',
    numeric: true,
    cell: ({ latency_ms: ms }) => (ms === null ? '–' : duration(ms)),
  },
  {
    title: 'Tokens',
    numeric: true,
    wideOnly: true,
    cell: ({ usage }) => (usage === null ? '–' : count(usage.total_tokens)),
  },
  { title: 'Cost', numeric: true, wideOnly: true, cell: ({ cost }) => dollars(cost) },
];

function TurnsScreen() {
  return useAllowed('executions:read') ? <Turns /> : <Forbidden what="turns" />;
}

function Turns() {
  const search = Route.useSearch();
  const { session, agent, status, trace } = search;
  const navigate = useNavigate();
  const names = useAgentNames();
  const query = {
    ...(session !== undefined && { session_id: session }),
    ...(agent !== undefined && { agent_id: agent }),
    ...(status !== undefined && { status }),
    ...(trace !== undefined && { trace_id: trace }),
  };
  const pages = usePages(
    ['turns', query],
    async (cursor, signal) => {
      const params = { query: { ...query, limit: 50, ...(cursor !== undefined && { cursor }) } };
      const { data, next_cursor } = await take(api.GET('/api/v1/executions', { params, signal }));
      return { rows: data, next: next_cursor ?? undefined };
    },
    { live: true },
  );
  const change = (filters: Partial<Record<keyof TurnsSearch, string | undefined>>): void =>
    void navigate({ to: '/turns', search: (old) => ({ ...old, ...filters }) as TurnsSearch, replace: true });
  return (
    <Page
      title="Turns"
      description="Each message that an agent worked on, latest first."
      actions={
        <>
          <LivenessMark liveness={pages.liveness} />
          <CopyAs
            request={{
              method: 'GET',
              path: withQuery('/api/v1/executions', query),
              mcp: { tool: 'list_executions', arguments: query },
            }}
          />
        </>
      }
    >
      <Filters>
        <FilterSelect
          label="Status"
          value={status}
          options={turnStatuses}
          onChange={(value) => change({ status: value })}
        />
        <FilterSelect
          label="Agent"
          value={agent}
          options={[...names].toSorted(([, a], [, b]) => a.localeCompare(b))}
          onChange={(value) => change({ agent: value })}
        />
        <FilterText label="Trace id" value={trace} onChange={(value) => change({ trace: value })} />
        {session !== undefined && (
          <button
            type="button"
            className="h-8 rounded-md border border-line px-2 text-sm hover:bg-hover"
            onClick={() => change({ session: undefined })}
          >
            One conversation <span aria-hidden>×</span>
            <span className="sr-only">, show all</span>
          </button>
        )}
      </Filters>
      <PagedTable
        caption="Turns"
        pages={pages}
        keyOf={({ id }) => id}
        empty={
          Object.keys(query).length > 0 ? (
            <Empty title="No turn matches" />
          ) : (
            <Empty title="No turns yet">
              <p>A turn begins with each message to an agent.</p>
            </Empty>
          )
        }
        columns={columns}
      />
    </Page>
  );
}
