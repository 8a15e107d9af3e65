import { getRouteApi } from '@tanstack/react-router';
import { api, take } from '../../../api/client';
import { readAnew, useKey, usePages } from '../../../api/queries';
import { useSessionChanges } from '../../../api/session-changes';
import { type TurnStatus, turnStatuses } from '../../../api/turn-statuses';
import { useAllowed } from '../../../session/use-session';
import { StatusBadge } from '../../../ui/badge';
import { type Column, PagedTable } from '../../../ui/data-table';
import { Filters, FilterSelect } from '../../../ui/filters';
import { LivenessMark } from '../../../ui/liveness-mark';
import { Empty, Forbidden } from '../../../ui/states';
import { duration, Time } from '../../../ui/time';
import type { Execution, Trigger } from '../types';
import { ExecutionDialog } from './execution-dialog';

const route = getRouteApi('/frame/triggers/$triggerId');
export function Executions({ trigger }: { readonly trigger: Trigger }) {
  if (!useAllowed('executions:read')) return <Forbidden what="executions" />;
  return <List trigger={trigger} />;
}

/** What the trigger ran, as it runs. */
function List({ trigger: { id, agent_id: agentId } }: { readonly trigger: Trigger }) {
  const { status: asked, execution } = route.useSearch();
  const navigate = route.useNavigate();
  const status = turnStatuses.find((one) => one === asked);
  const key = useKey('triggers', id, 'executions');
  const liveness = useSessionChanges(agentId, () => void readAnew(key));
  const pages = usePages<Execution>(['triggers', id, 'executions', status], async (cursor, signal) => {
    const params = { path: { id }, query: { limit: 50, cursor, status } };
    const { data, next_cursor: next } = await take(
      api.GET('/api/triggers/{id}/executions', { params, signal }),
    );
    return { rows: data, next: next ?? undefined };
  });
  const show = (next: { status?: TurnStatus | undefined; execution?: string | undefined }): void =>
    void navigate({ search: { tab: 'executions', status, execution, ...next }, replace: true });
  return (
    <div className="flex flex-col gap-3">
      <div className="flex flex-wrap items-center justify-between gap-2">
        <Filters>
          <FilterSelect
            label="Status"
            value={status}
            options={turnStatuses}
            onChange={(value) => show({ status: value as TurnStatus | undefined })}
          />
        </Filters>
        <LivenessMark liveness={liveness} />
      </div>
      <PagedTable
        pages={pages}
        caption="Executions"
        keyOf={({ id: one }) => one}
        columns={columnsOf((one) => show({ execution: one }))}
        empty={
          <Empty title={status === undefined ? 'Nothing ran yet' : 'No execution has this status'}>
            {status === undefined && <p>What the trigger starts appears here by itself.</p>}
          </Empty>
        }
      />
      <ExecutionDialog
        triggerId={id}
        executionId={execution}
        onClose={() => show({ execution: undefined })}
      />
    </div>
  );
}

function columnsOf(open: (id: string) => void): readonly Column<Execution>[] {
  return [
    {
      title: 'Message',
      cell: ({ id, input_preview: input, output_preview: output, error }) => (
        <button type="button" className="block w-full max-w-xl min-w-0 text-left" onClick={() => open(id)}>
          <span className="line-clamp-1 wrap-anywhere text-accent">{input === '' ? '(no text)' : input}</span>
          <span className="line-clamp-1 text-xs font-normal wrap-anywhere text-muted">
            {error === undefined ? output : error.message}
          </span>
        </button>
      ),
    },
    { title: 'Status', cell: ({ status }) => <StatusBadge status={status} /> },
    {
      title: 'Delivery',
      wideOnly: true,
      cell: ({ delivery_status: delivery }) => (delivery === 'none' ? '' : <StatusBadge status={delivery} />),
    },
    {
      title: 'Time',
      numeric: true,
      wideOnly: true,
      cell: ({ latency_ms: ms }) => (ms === null ? '' : duration(ms)),
    },
    { title: 'When', numeric: true, cell: ({ created_at: at }) => <Time at={at} /> },
  ];
}
