import { useQuery } from '@tanstack/react-query';
import { createLazyRoute, useNavigate } from '@tanstack/react-router';
import { RefreshCw } from 'lucide-react';
import { useAgentNames } from '../../api/agent-names';
import { api, take } from '../../api/client';
import { queries, useKey, usePages } from '../../api/queries';
import type { Liveness } from '../../api/realtime';
import { withQuery } from '../../api/with-query';
import { useAllowed } from '../../session/use-session';
import { AgentName } from '../../ui/agent-name';
import { Button } from '../../ui/button';
import { CopyAs } from '../../ui/copy-as';
import { type Column, PagedTable } from '../../ui/data-table';
import { Filters, FilterSelect, FilterText } from '../../ui/filters';
import { LivenessMark } from '../../ui/liveness-mark';
import { Page } from '../../ui/page';
import { Empty, Forbidden } from '../../ui/states';
import { Time } from '../../ui/time';
import { ErrorDetails } from './error-details';
import type { TenantError } from './error-facts';
import { periods, type ErrorsSearch } from './routes';
import { useTriggerNames } from './use-trigger-names';

export const Route = createLazyRoute('/frame/errors')({ component: Errors });

const periodMs = { hour: 3_600_000, day: 86_400_000, week: 7 * 86_400_000 } as const;
const periodNames = { hour: 'last hour', day: 'last day', week: 'last week' } as const;

function Errors() {
  const search = Route.useSearch();
  const mayRead = useAllowed('telemetry:read');
  return (
    <Page
      title="Errors"
      description="Refused requests and failed turns of the tenant on all nodes, of the last seven days."
      actions={mayRead && <Actions search={search} />}
    >
      {mayRead ? <ErrorList search={search} /> : <Forbidden what="errors" />}
    </Page>
  );
}

function Actions({ search }: { readonly search: ErrorsSearch }) {
  const key = useKey('errors');
  return (
    <>
      <CopyAs
        request={{
          method: 'GET',
          path: withQuery('/api/v1/errors', filterOf(search)),
        }}
      />
      <Button
        icon={<RefreshCw size={14} aria-hidden />}
        onClick={() => void queries.invalidateQueries({ queryKey: key })}
      >
        Refresh
      </Button>
    </>
  );
}

const filterOf = ({ code, agent, trigger, request }: ErrorsSearch) => ({
  code,
  agent_id: agent,
  trigger_id: trigger,
  request_id: request,
});

function ErrorList({ search }: { readonly search: ErrorsSearch }) {
  const navigate = useNavigate({ from: '/errors' });
  const { error, period, ...rest } = search;
  const filter = filterOf(search);
  const pages = usePages(
    ['errors', 'list', filter, period],
    async (cursor, signal) => {
      const since = period === undefined ? undefined : new Date(Date.now() - periodMs[period]).toISOString();
      const query = { ...filter, limit: 50, cursor, ...(since !== undefined && { start_date: since }) };
      const answer = await take(api.GET('/api/v1/errors', { params: { query }, signal }));
      return { rows: answer.data, next: answer.next_cursor ?? undefined };
    },
    { live: true },
  );
  const triggers = useTriggerNames();
  const open = (next: ErrorsSearch) => void navigate({ search: { ...rest, period, ...next }, replace: true });
  const isFiltered = period !== undefined || Object.values(filter).some((value) => value !== undefined);
  return (
    <>
      <ErrorFilters search={search} open={open} triggers={triggers} liveness={pages.liveness} />
      <PagedTable
        pages={pages}
        caption="Errors"
        columns={columnsOf(triggers, (id) => open({ error: id }))}
        keyOf={({ id }) => id}
        empty={
          <Empty title={isFiltered ? 'No error matches' : 'No errors'}>
            <p>
              {isFiltered
                ? 'Choose another filter, or a longer time.'
                : 'Nothing of this tenant failed or was refused in the last seven days.'}
            </p>
          </Empty>
        }
      />
      {error !== undefined && <ErrorDetails id={error} onClose={() => open({ error: undefined })} />}
    </>
  );
}

function ErrorFilters({
  search: { code, agent, trigger, request, period },
  open,
  triggers,
  liveness,
}: {
  readonly search: ErrorsSearch;
  readonly open: (next: ErrorsSearch) => void;
  readonly triggers: ReadonlyMap<string, string>;
  readonly liveness: Liveness;
}) {
  const agents = useAgentNames();
  const codes = useCodes(code);
  return (
    <Filters>
      <FilterSelect
        label="Time"
        value={period}
        options={periods.map((one) => [one, periodNames[one]])}
        onChange={(next) => open({ period: periods.find((one) => one === next) })}
      />
      <FilterSelect label="Code" value={code} options={codes} onChange={(next) => open({ code: next })} />
      <FilterSelect
        label="Agent"
        value={agent}
        options={optionsOf(agents, agent)}
        onChange={(next) => open({ agent: next })}
      />
      <FilterSelect
        label="Trigger"
        value={trigger}
        options={optionsOf(triggers, trigger)}
        onChange={(next) => open({ trigger: next })}
      />
      <FilterText label="Request id" value={request} onChange={(next) => open({ request: next })} />
      <LivenessMark liveness={liveness} />
    </Filters>
  );
}

/** A link may name one that is not in the list any more. */
const optionsOf = (names: ReadonlyMap<string, string>, chosen: string | undefined) =>
  [...names, ...(chosen === undefined || names.has(chosen) ? [] : [[chosen, chosen] as const])].map(
    ([id, name]) => [id, name.length > 40 ? `${name.slice(0, 39)}…` : name] as const,
  );

/** The codes of the latest errors. */
function useCodes(chosen: string | undefined): readonly string[] {
  const { data } = useQuery({
    queryKey: useKey('errors', 'codes'),
    queryFn: ({ signal }) => take(api.GET('/api/v1/errors', { params: { query: { limit: 100 } }, signal })),
    staleTime: 30_000,
  });
  const codes = (data?.data ?? []).map(({ error }) => error);
  return [...new Set([...codes, ...(chosen === undefined ? [] : [chosen])])].toSorted();
}

function columnsOf(
  triggers: ReadonlyMap<string, string>,
  onOpen: (id: string) => void,
): readonly Column<TenantError>[] {
  return [
    {
      title: 'Error',
      cell: ({ id, error, message }) => (
        <button
          type="button"
          className="flex flex-col text-left wrap-anywhere hover:underline"
          onClick={() => onOpen(id)}
        >
          <span className="font-mono text-accent">{error}</span>
          <span className="text-xs font-normal text-muted">{message}</span>
        </button>
      ),
    },
    {
      title: 'At',
      wideOnly: true,
      cell: ({ operation }) => (
        <span className="font-mono text-xs wrap-anywhere">
          {operation === 'turns.run' ? 'a turn' : (operation ?? '—')}
        </span>
      ),
    },
    {
      title: 'Of',
      wideOnly: true,
      cell: ({ agent_id: agent, trigger_id: trigger }) => (
        <span className="wrap-anywhere">
          {trigger !== null
            ? (triggers.get(trigger) ?? 'a trigger')
            : agent !== null && <AgentName id={agent} />}
          {trigger === null && agent === null && <span className="text-muted">—</span>}
        </span>
      ),
    },
    { title: 'When', cell: ({ timestamp }) => <Time at={timestamp} /> },
  ];
}
