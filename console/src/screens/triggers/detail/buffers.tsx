import { useQuery } from '@tanstack/react-query';
import { api, take } from '../../../api/client';
import { queries, useKey } from '../../../api/queries';
import { useSessionChanges } from '../../../api/session-changes';
import { useAllowed } from '../../../session/use-session';
import { Button } from '../../../ui/button';
import { type Column, DataTable } from '../../../ui/data-table';
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
  { title: 'Conversation', cell: ({ session_id: id }) => <code className="font-mono text-xs">{id}</code> },
  { title: 'Messages', numeric: true, cell: ({ messages }) => count(messages) },
  { title: 'Runs', numeric: true, cell: ({ due_at: at }) => <Time at={at} exactly /> },
];

/** Messages that wait for others of their conversation. */
export function Buffers({ trigger }: { readonly trigger: Trigger }) {
  if (!useAllowed('executions:read')) return <Forbidden what="buffers" />;
  return <List trigger={trigger} />;
}

function List({ trigger: { id, agent_id: agentId, trigger_config: config } }: { readonly trigger: Trigger }) {
  const key = useKey('triggers', id, 'buffers');
  const query = useQuery({
    queryKey: key,
    queryFn: ({ signal }) =>
      take(api.GET('/api/triggers/{id}/buffers', { params: { path: { id } }, signal })),
    staleTime: 0,
  });
  const refresh = (): void => void queries.invalidateQueries({ queryKey: key });
  // A buffer that ends starts a turn, which changes a session.
  useSessionChanges(agentId, refresh);
  const isOn = settingAt(config, 'execution.message_buffer.enabled') === true;
  return (
    <div className="flex flex-col gap-3">
      <div className="flex items-center justify-between gap-2">
        <p className="text-sm text-muted">
          {isOn
            ? 'Messages that follow each other wait for a moment and run as one.'
            : 'Gathering of messages is off; the settings switch it on.'}
        </p>
        <Button onClick={refresh}>Look again</Button>
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
