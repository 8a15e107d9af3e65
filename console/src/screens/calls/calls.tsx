import { createLazyRoute, useNavigate } from '@tanstack/react-router';
import type { paths } from '#api/openapi';
import { api, take, tenantHeader } from '../../api/client';
import { queries, useKey, usePages } from '../../api/queries';
import { useRealtime } from '../../api/realtime';
import { useThrottled } from '../../api/throttled';
import { useAllowed } from '../../session/use-session';
import { CopyAs } from '../../ui/copy-as';
import { type Column, PagedTable } from '../../ui/data-table';
import { Filters, FilterSelect, FilterText } from '../../ui/filters';
import { count, dollars } from '../../ui/numbers';
import { Page } from '../../ui/page';
import { Empty, Forbidden } from '../../ui/states';
import { duration, Time } from '../../ui/time';
import { CallDetails } from './call-details';
import type { CallsSearch } from './routes';

export const Route = createLazyRoute('/frame/calls')({ component: Calls });

export type Call =
  paths['/api/telemetry/logs']['get']['responses'][200]['content']['application/json']['data'][number];

/** Calls of models, newest first. */
function Calls() {
  const { call, status, model, agent } = Route.useSearch();
  const navigate = useNavigate({ from: '/calls' });
  const mayRead = useAllowed('telemetry:read');
  const filter = { status, model, agent_id: agent };
  const listKey = useKey('calls');
  const readAgain = useThrottled(() => void queries.invalidateQueries({ queryKey: listKey }), 2_000);
  useRealtime(readAgain, readAgain);
  const pages = usePages(
    ['calls', filter],
    async (cursor, signal) => {
      const query = { ...filter, limit: 50, page: Number(cursor ?? 1) };
      const params = { query, header: tenantHeader() };
      const { data, pagination } = await take(api.GET('/api/telemetry/logs', { params, signal }));
      return {
        rows: data,
        next: pagination.page < pagination.pages ? String(pagination.page + 1) : undefined,
      };
    },
    { enabled: mayRead },
  );
  if (!mayRead) {
    return (
      <Page title="Calls">
        <Forbidden what="calls of models" />
      </Page>
    );
  }
  const open = (next: CallsSearch) =>
    void navigate({ search: { status, model, agent, ...next }, replace: true });
  const given = Object.entries(filter).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  );
  const shown = pages.rows.find(({ id }) => id === call);
  return (
    <Page
      title="Calls"
      description="Every call of a model: direct calls and those of agents."
      actions={
        <CopyAs
          request={{
            method: 'GET',
            path: `/api/telemetry/logs?${new URLSearchParams(given.map(([name, value]) => [name, value]))}`,
            mcp: { tool: 'list_telemetry_logs', arguments: Object.fromEntries(given) },
          }}
        />
      }
    >
      <Filters>
        <FilterSelect
          label="Outcome"
          value={status}
          options={[
            ['success', 'Succeeded'],
            ['error', 'Failed'],
          ]}
          onChange={(value) => open({ status: value === 'success' || value === 'error' ? value : undefined })}
        />
        <FilterText label="Model" value={model} onChange={(value) => open({ model: value })} />
        <FilterText label="Agent id" value={agent} onChange={(value) => open({ agent: value })} />
      </Filters>
      <PagedTable
        pages={pages}
        caption="Calls of models"
        columns={columnsOf((id) => open({ call: id }))}
        keyOf={({ id }) => id}
        empty={
          <Empty title={given.length === 0 ? 'No calls yet' : 'No call matches'}>
            <p>
              {given.length === 0
                ? 'Calls appear here as soon as an agent or a program calls a model.'
                : 'Remove a filter to see more.'}
            </p>
          </Empty>
        }
      />
      {shown !== undefined && <CallDetails call={shown} onClose={() => open({ call: undefined })} />}
    </Page>
  );
}

function columnsOf(onOpen: (id: string) => void): readonly Column<Call>[] {
  return [
    {
      title: 'Model',
      cell: ({ id, model }) => (
        <button
          type="button"
          className="text-left text-accent wrap-anywhere hover:underline"
          onClick={() => onOpen(id)}
        >
          {model}
        </button>
      ),
    },
    {
      title: 'Input',
      wideOnly: true,
      cell: ({ metadata: { input_preview: text } }) => (
        <span className="block max-w-80 truncate text-muted">{text}</span>
      ),
    },
    { title: 'Source', wideOnly: true, cell: ({ call_source: source }) => source },
    { title: 'Tokens', numeric: true, cell: ({ total_tokens: tokens }) => count(tokens) },
    { title: 'Cost', numeric: true, cell: ({ cost }) => dollars(cost) },
    { title: 'Took', numeric: true, wideOnly: true, cell: ({ response_time_ms: ms }) => duration(ms) },
    { title: 'When', cell: ({ timestamp }) => <Time at={timestamp} /> },
  ];
}
