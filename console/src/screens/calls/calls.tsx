import { createLazyRoute, Link, useNavigate } from '@tanstack/react-router';
import { useAgentNames } from '../../api/agent-names';
import { usePages } from '../../api/queries';
import { withQuery } from '../../api/with-query';
import { useAllowed } from '../../session/use-session';
import { StatusBadge } from '../../ui/badge';
import { CopyAs } from '../../ui/copy-as';
import { type Column, PagedTable } from '../../ui/data-table';
import { Filters, FilterSelect, FilterText } from '../../ui/filters';
import { LivenessMark } from '../../ui/liveness-mark';
import { count, dollars } from '../../ui/numbers';
import { Page } from '../../ui/page';
import { Empty, Forbidden } from '../../ui/states';
import { duration, Time } from '../../ui/time';
import { type Call, readCalls } from './call-pages';
import type { CallsSearch } from './routes';

export const Route = createLazyRoute('/frame/calls')({ component: Calls });

/** Calls of models, newest first. */
function Calls() {
  const { status, model, agent } = Route.useSearch();
  const navigate = useNavigate({ from: '/calls' });
  const names = useAgentNames();
  const mayRead = useAllowed('telemetry:read');
  const filter = { status, model, agent_id: agent };
  const pages = usePages(['calls', filter], (cursor, signal) => readCalls(filter, cursor, signal), {
    enabled: mayRead,
    live: true,
  });
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
  return (
    <Page
      title="Calls"
      description="Every call of a model: direct calls and those of agents."
      actions={
        <>
          <LivenessMark liveness={pages.liveness} />
          <CopyAs
            request={{
              method: 'GET',
              path: withQuery('/api/telemetry/logs', filter),
              mcp: { tool: 'list_telemetry_logs', arguments: Object.fromEntries(given) },
            }}
          />
        </>
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
        <FilterSelect
          label="Agent"
          value={agent}
          options={[...names].toSorted(([, a], [, b]) => a.localeCompare(b))}
          onChange={(value) => open({ agent: value })}
        />
      </Filters>
      <PagedTable
        pages={pages}
        caption="Calls of models"
        columns={columns}
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
    </Page>
  );
}

const columns: readonly Column<Call>[] = [
  {
    title: 'Model',
    cell: ({ id, model }) => (
      <Link to="/calls/$callId" params={{ callId: id }} className="text-accent wrap-anywhere hover:underline">
        {model}
      </Link>
    ),
  },
  {
    title: 'Outcome',
    cell: ({ status, failure }) => (
      <span className="flex flex-wrap items-center gap-1.5">
        <StatusBadge status={status} />
        {failure !== null && <span className="text-xs text-bad">{failure.replaceAll('_', ' ')}</span>}
      </span>
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
  {
    title: 'Tokens',
    numeric: true,
    wideOnly: true,
    cell: ({ total_tokens: tokens }) => count(tokens),
  },
  { title: 'Cost', numeric: true, wideOnly: true, cell: ({ cost }) => dollars(cost) },
  { title: 'Took', numeric: true, wideOnly: true, cell: ({ response_time_ms: ms }) => duration(ms) },
  { title: 'When', cell: ({ timestamp }) => <Time at={timestamp} /> },
];
