import type { paths } from '#api/openapi';
import { Link } from '@tanstack/react-router';
import { AgentName } from '../../ui/agent-name';
import { api, take } from '../../api/client';
import { usePages } from '../../api/queries';
import { Badge, StatusBadge } from '../../ui/badge';
import { channelName } from '../../ui/channel';
import { type Column, PagedTable } from '../../ui/data-table';
import { Empty } from '../../ui/states';
import { Time } from '../../ui/time';

type Row =
  paths['/api/v1/consumers/{key}/sessions']['get']['responses'][200]['content']['application/json']['data'][number];

const columns: readonly Column<Row>[] = [
  {
    title: 'Last message',
    cell: ({ session_id: id, last_interaction: at }) => (
      <Link to="/inbox" search={{ session: id }} className="text-accent hover:underline">
        <Time at={at} />
      </Link>
    ),
  },
  { title: 'Agent', cell: ({ agent_id: id }) => <AgentName id={id} /> },
  { title: 'Channel', wideOnly: true, cell: ({ channel }) => channelName(channel) },
  {
    title: 'State',
    cell: ({ state, control_mode: mode }) =>
      mode === 'engaged' ? <StatusBadge status={state} /> : <Badge tone="warn">taken over</Badge>,
  },
  { title: 'Turns', numeric: true, cell: ({ total_turns: turns }) => turns },
];

export function ConversationsOf({ consumerKey }: { readonly consumerKey: string }) {
  const pages = usePages(['consumers', 'conversations', consumerKey], async (cursor, signal) => {
    const query = { limit: 20, ...(cursor !== undefined && { cursor }) };
    const params = { path: { key: consumerKey }, query };
    const { data, next_cursor } = await take(api.GET('/api/v1/consumers/{key}/sessions', { params, signal }));
    return { rows: data, next: next_cursor ?? undefined };
  });
  return (
    <div className="flex flex-col gap-2">
      <h2>Conversations</h2>
      <PagedTable
        caption="Conversations"
        pages={pages}
        keyOf={({ session_id: id }) => id}
        empty={<Empty title="No conversations" />}
        columns={columns}
      />
    </div>
  );
}
