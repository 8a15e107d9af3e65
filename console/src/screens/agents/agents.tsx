import { createLazyRoute, Link } from '@tanstack/react-router';
import { Plus } from 'lucide-react';
import { api, take } from '../../api/client';
import { usePages } from '../../api/queries';
import { useAllowed } from '../../session/use-session';
import { StatusBadge } from '../../ui/badge';
import { Button } from '../../ui/button';
import { CopyAs } from '../../ui/copy-as';
import { type Column, PagedTable } from '../../ui/data-table';
import { Filters, FilterSelect, FilterText } from '../../ui/filters';
import { Page } from '../../ui/page';
import { Empty } from '../../ui/states';
import { Time } from '../../ui/time';
import { NewAgent } from './new-agent';
import { type AgentStatus, agentStatuses } from './routes';
import type { AgentSummary } from './types';

export const Route = createLazyRoute('/frame/agents')({ component: Agents });

function Agents() {
  const { status, search, create } = Route.useSearch();
  const navigate = Route.useNavigate();
  const mayCreate = useAllowed('agents:create');
  const found = usePages<AgentSummary>(['agents', 'list', status], async (cursor, signal) => {
    const query = { status, cursor, limit: 50 };
    const { data, next_cursor: next } = await take(api.GET('/api/agents', { params: { query }, signal }));
    return { rows: data, next: next ?? undefined };
  });
  const words = search?.toLowerCase();
  const rows =
    words === undefined
      ? found.rows
      : found.rows.filter(({ name, commercial_name: shown, bio }) =>
          `${name} ${shown} ${bio}`.toLowerCase().includes(words),
        );
  const show = (next: { status?: AgentStatus | undefined; search?: string | undefined; create?: true }) =>
    void navigate({ search: (present) => ({ ...present, ...next }), replace: true });
  const createButton = mayCreate && (
    <Button kind="primary" icon={<Plus size={14} aria-hidden />} onClick={() => show({ create: true })}>
      New agent
    </Button>
  );
  return (
    <Page
      title="Agents"
      description="Assistants with a prompt, a model and tools. A published version serves; you edit the working copy."
      actions={
        <>
          <CopyAs
            request={{
              method: 'GET',
              path: status === undefined ? '/api/agents' : `/api/agents?status=${status}`,
              mcp: { tool: 'list_agents', arguments: status === undefined ? {} : { status } },
            }}
          />
          {createButton}
        </>
      }
    >
      <Filters>
        <FilterText label="Search" value={search} onChange={(text) => show({ search: text })} />
        <FilterSelect
          label="Status"
          value={status}
          options={agentStatuses}
          onChange={(value) => show({ status: value as AgentStatus | undefined })}
        />
      </Filters>
      <PagedTable
        pages={{ ...found, rows }}
        caption="Agents"
        keyOf={({ id }) => id}
        empty={
          words === undefined && status === undefined ? (
            <Empty title="No agents yet">
              <p>An agent answers people and programs with a model, your prompt and your tools.</p>
              {createButton}
            </Empty>
          ) : (
            <Empty title="No agent fits the filters" />
          )
        }
        columns={columns}
      />
      <NewAgent
        open={create === true && mayCreate}
        onClose={() => void navigate({ search: { status, search } })}
      />
    </Page>
  );
}

const columns: readonly Column<AgentSummary>[] = [
  { title: 'Agent', cell: (agent) => <AgentName agent={agent} /> },
  { title: 'Status', cell: ({ status }) => <StatusBadge status={status} /> },
  { title: 'Type', cell: ({ type }) => type.replaceAll('_', ' '), wideOnly: true },
  {
    title: 'Model',
    cell: ({ llm_config: { model } }) => <code className="font-mono text-xs">{model}</code>,
    wideOnly: true,
  },
  { title: 'Changed', cell: ({ updated_at: at }) => <Time at={at} />, numeric: true },
];

function AgentName({ agent: { id, name, commercial_name: shown, bio } }: { readonly agent: AgentSummary }) {
  return (
    <div className="max-w-md min-w-0">
      <Link
        to="/agents/$agentId"
        params={{ agentId: id }}
        className="wrap-anywhere text-accent hover:underline"
      >
        {shown}
      </Link>
      {shown !== name && <span className="ml-2 font-mono text-xs font-normal text-muted">{name}</span>}
      {bio !== '' && <p className="truncate text-xs font-normal text-muted max-sm:hidden">{bio}</p>}
    </div>
  );
}
