import { useQuery } from '@tanstack/react-query';
import { createLazyRoute, Link } from '@tanstack/react-router';
import { Plus } from 'lucide-react';
import { useAgentNames } from '../../api/agent-names';
import { api, take } from '../../api/client';
import { useKey, usePages } from '../../api/queries';
import { useAllowed } from '../../session/use-session';
import { Badge } from '../../ui/badge';
import { buttonClass } from '../../ui/button';
import { CopyAs } from '../../ui/copy-as';
import { type Column, PagedTable } from '../../ui/data-table';
import { Filters, FilterSelect } from '../../ui/filters';
import { count } from '../../ui/numbers';
import { Page } from '../../ui/page';
import { Empty } from '../../ui/states';
import { duration, Time } from '../../ui/time';
import { type TriggerType, triggerTypes } from './routes';
import { type Trigger, typeNames } from './types';

export const Route = createLazyRoute('/frame/triggers')({ component: Triggers });

function Triggers() {
  const { type, enabled } = Route.useSearch();
  const navigate = Route.useNavigate();
  const names = useAgentNames();
  const mayCreate = useAllowed('triggers:create');
  const pages = usePages<Trigger>(['triggers', type, enabled], async (cursor, signal) => {
    const query = {
      limit: 50,
      cursor,
      trigger_type: type,
      ...(enabled !== undefined && { enabled }),
    };
    const { data, next_cursor: next } = await take(api.GET('/api/triggers', { params: { query }, signal }));
    return { rows: data, next: next ?? undefined };
  });
  const button = mayCreate && (
    <Link to="/triggers/new" className={buttonClass('primary')}>
      <Plus size={14} aria-hidden /> New trigger
    </Link>
  );
  return (
    <Page
      title="Triggers"
      description="What starts agents from outside: webhooks and channels, mail, times, rows of databases."
      actions={
        <>
          <CopyAs
            request={{
              method: 'GET',
              path: type === undefined ? '/api/triggers' : `/api/triggers?trigger_type=${type}`,
              mcp: { tool: 'list_triggers', arguments: type === undefined ? {} : { trigger_type: type } },
            }}
          />
          {button}
        </>
      }
    >
      <Stats />
      <Filters>
        <FilterSelect
          label="Type"
          value={type}
          options={triggerTypes.map((one) => [one, typeNames[one]] as const)}
          onChange={(value) =>
            void navigate({ search: { type: value as TriggerType | undefined, enabled }, replace: true })
          }
        />
        <FilterSelect
          label="State"
          value={enabled === undefined ? undefined : String(enabled)}
          options={[
            ['true', 'on'],
            ['false', 'off'],
          ]}
          onChange={(value) =>
            void navigate({
              search: { type, enabled: value === undefined ? undefined : value === 'true' },
              replace: true,
            })
          }
        />
      </Filters>
      <PagedTable
        pages={pages}
        caption="Triggers"
        keyOf={({ id }) => id}
        columns={columnsOf(names)}
        empty={
          type === undefined && enabled === undefined ? (
            <Empty title="No triggers yet">
              <p>A trigger lets a webhook, a mail, a time or a new row start a turn of an agent.</p>
              {button}
            </Empty>
          ) : (
            <Empty title="No trigger fits the filters" />
          )
        }
      />
    </Page>
  );
}

function columnsOf(names: ReadonlyMap<string, string>): readonly Column<Trigger>[] {
  return [
    {
      title: 'Trigger',
      cell: ({ id, name }) => (
        <Link
          to="/triggers/$triggerId"
          params={{ triggerId: id }}
          className="wrap-anywhere text-accent hover:underline"
        >
          {name}
        </Link>
      ),
    },
    { title: 'Type', cell: ({ trigger_type: type }) => typeNames[type] },
    {
      title: 'Agent',
      wideOnly: true,
      cell: ({ agent_id: id }) => (
        <Link to="/agents/$agentId" params={{ agentId: id }} className="hover:underline">
          {names.get(id) ?? 'archived agent'}
        </Link>
      ),
    },
    { title: 'State', cell: (trigger) => <State trigger={trigger} /> },
    {
      title: 'Next run',
      wideOnly: true,
      numeric: true,
      cell: ({ next_runs: runs }) => (runs?.[0] === undefined ? '' : <Time at={runs[0]} />),
    },
  ];
}

export function State({ trigger: { enabled, source } }: { readonly trigger: Trigger }) {
  if (!enabled) return <Badge>off</Badge>;
  if (source !== undefined && source.failures > 0)
    return (
      <span title={source.last_error ?? undefined}>
        <Badge tone="bad">failing</Badge>
      </span>
    );
  return <Badge tone="good">on</Badge>;
}

function Stats() {
  const { data } = useQuery({
    queryKey: useKey('triggers', 'stats'),
    queryFn: ({ signal }) => take(api.GET('/api/triggers/stats', { signal })),
  });
  if (data === undefined || data.data.total === 0) return null;
  const { executions, last_24h: day, avg_latency_ms: latency, enabled, total } = data.data;
  const figures = [
    ['On', `${count(enabled)} of ${count(total)}`],
    ['Executions', count(executions.total)],
    ['Last 24 hours', count(day)],
    ['Failed', count(executions.failed + executions.timeout)],
    ['Average time', duration(latency)],
  ];
  return (
    <dl className="grid grid-cols-2 gap-3 sm:grid-cols-5">
      {figures.map(([name, value]) => (
        <div key={name} className="rounded-lg border border-line bg-surface px-3 py-2">
          <dt className="text-xs text-muted">{name}</dt>
          <dd className="text-lg font-semibold tabular-nums">{value}</dd>
        </div>
      ))}
    </dl>
  );
}
