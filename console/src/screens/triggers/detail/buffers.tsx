import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { api, take } from '../../../api/client';
import { liveEveryMs, useKey } from '../../../api/queries';
import { useAllowed } from '../../../session/use-session';
import { type Column, DataTable } from '../../../ui/data-table';
import { LivenessMark } from '../../../ui/liveness-mark';
import { count } from '../../../ui/numbers';
import { Empty, Forbidden, Loaded } from '../../../ui/states';
import { Time } from '../../../ui/time';
import { settingAt } from '../config';
import type { Trigger } from '../types';

interface Buffer {
  readonly session_id: string;
  readonly messages: number;
  readonly due_at: string;
}

const columns: readonly Column<Buffer>[] = [
  {
    title: 'Conversation',
    cell: ({ session_id: id }) => (
      <Link to="/inbox" search={{ session: id }} className="font-mono text-xs text-accent hover:underline">
        {id}
      </Link>
    ),
  },
  { title: 'Messages', numeric: true, cell: ({ messages }) => count(messages) },
  { title: 'Runs', numeric: true, cell: ({ due_at: at }) => <Time at={at} /> },
];

/** Messages that wait for others of their conversation. */
export function Buffers({ trigger }: { readonly trigger: Trigger }) {
  if (!useAllowed('executions:read')) return <Forbidden what="buffers" />;
  return <List trigger={trigger} />;
}

/** No event tells of a message that joins a buffer, so the list is read again while somebody looks (decision 0162). */
function List({ trigger: { id, trigger_config: config } }: { readonly trigger: Trigger }) {
  const query = useQuery({
    queryKey: useKey('triggers', id, 'buffers'),
    queryFn: ({ signal }) =>
      take(api.GET('/api/triggers/{id}/buffers', { params: { path: { id } }, signal })),
    staleTime: 0,
    refetchInterval: liveEveryMs,
  });
  const isOn = settingAt(config, 'execution.message_buffer.enabled') === true;
  return (
    <div className="flex flex-col gap-3">
      <div className="flex items-center justify-between gap-2">
        <p className="text-sm text-muted">
          {isOn
            ? 'Messages that follow each other wait for a moment and run as one.'
            : 'Gathering of messages is off; the settings switch it on.'}
        </p>
        <LivenessMark liveness={query.isError ? 'connecting' : 'live'} />
      </div>
      <Loaded query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty title="No buffer is open now" />
          ) : (
            <DataTable
              caption="Open buffers"
              columns={columns}
              rows={data}
              keyOf={({ session_id: one }) => one}
            />
          )
        }
      </Loaded>
    </div>
  );
}
