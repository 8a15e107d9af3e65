import { useMutation } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { api, take } from '../../../api/client';
import { queries, useKey, usePages } from '../../../api/queries';
import { StatusBadge } from '../../../ui/badge';
import { Button } from '../../../ui/button';
import { type Column, PagedTable } from '../../../ui/data-table';
import { Filters, FilterSelect } from '../../../ui/filters';
import { LivenessMark } from '../../../ui/liveness-mark';
import { Empty } from '../../../ui/states';
import { Time } from '../../../ui/time';
import { failed, succeeded } from '../../../ui/toasts';
import type { Delivery } from '../types';

const route = getRouteApi('/frame/triggers/$triggerId');
const statuses = ['pending', 'delivered', 'delivery_failed'] as const;
const names = { pending: 'on their way', delivered: 'delivered', delivery_failed: 'dead letters' } as const;

/** Answers on their way out, those that arrived, and those that nobody took. */
export function Deliveries({ triggerId }: { readonly triggerId: string }) {
  const { status: asked } = route.useSearch();
  const navigate = route.useNavigate();
  const status = statuses.find((one) => one === asked);
  const key = useKey('triggers', triggerId, 'deliveries');
  const pages = usePages<Delivery>(
    ['triggers', triggerId, 'deliveries', status],
    async (cursor, signal) => {
      const query = { trigger_id: triggerId, limit: 50, cursor, status };
      const { data, next_cursor: next } = await take(
        api.GET('/api/v1/deliveries', { params: { query }, signal }),
      );
      return { rows: data, next: next ?? undefined };
    },
    { live: true },
  );
  const replay = useMutation({
    mutationFn: (id: string) =>
      take(api.POST('/api/v1/deliveries/{id}/replay', { params: { path: { id } } })),
    onSuccess: async () => {
      succeeded('The answer is sent once more');
      await queries.invalidateQueries({ queryKey: key });
    },
    onError: (error) => failed('Sending it once more failed', error),
  });
  const open = (executionId: string | null): void => {
    if (executionId !== null) void navigate({ search: { tab: 'executions', execution: executionId } });
  };
  return (
    <div className="flex flex-col gap-3">
      <div className="flex flex-wrap items-center justify-between gap-2">
        <Filters>
          <FilterSelect
            label="Status"
            value={status}
            options={statuses.map((one) => [one, names[one]] as const)}
            onChange={(value) =>
              void navigate({ search: { tab: 'deliveries', status: value }, replace: true })
            }
          />
        </Filters>
        <LivenessMark liveness={pages.liveness} />
      </div>
      <PagedTable
        pages={pages}
        caption="Deliveries"
        keyOf={({ id }) => id}
        columns={columnsOf(open, replay.isPending ? undefined : replay.mutate)}
        empty={
          <Empty title="No deliveries">
            <p>Answers that are sent by callback, channel or mail are listed here with their attempts.</p>
          </Empty>
        }
      />
    </div>
  );
}

function columnsOf(
  open: (executionId: string | null) => void,
  replay: ((id: string) => void) | undefined,
): readonly Column<Delivery>[] {
  return [
    {
      title: 'Delivery',
      cell: ({ id, execution_id: executionId, chunk, chunk_total: total }) => (
        <button
          type="button"
          className="text-left font-mono text-xs text-accent hover:underline"
          onClick={() => open(executionId)}
        >
          {id.slice(0, 8)}
          {total > 1 && ` (${chunk} of ${total})`}
        </button>
      ),
    },
    { title: 'Status', cell: ({ status }) => <StatusBadge status={status} /> },
    { title: 'Attempts', numeric: true, cell: ({ attempts }) => attempts },
    {
      title: 'Last answer',
      wideOnly: true,
      cell: ({ last_status_code: code, last_error: error }) => (
        <span className="line-clamp-2 max-w-md text-xs wrap-anywhere">
          {[code, error].filter((part) => part !== null).join(' · ')}
        </span>
      ),
    },
    { title: 'When', numeric: true, wideOnly: true, cell: ({ created_at: at }) => <Time at={at} /> },
    {
      title: 'Actions',
      numeric: true,
      cell: ({ id, status }) =>
        status === 'delivery_failed' && (
          <Button disabled={replay === undefined} onClick={() => replay?.(id)}>
            Send again
          </Button>
        ),
    },
  ];
}
