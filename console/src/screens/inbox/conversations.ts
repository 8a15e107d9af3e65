import type { paths } from '#api/openapi';
import { api, take } from '../../api/client';
import type { InboxSearch } from './search';

type Listed = paths['/api/v1/sessions']['get']['responses'][200]['content']['application/json'];
export type Conversation = Listed['data'][number];

const pageRows = 100;

function queryOf({ state, agent, channel, consumer, words, from, to }: InboxSearch) {
  return {
    preview: true,
    limit: pageRows,
    ...(state === 'waiting' && { control_mode: 'manual_handoff' as const }),
    ...(state === 'approval' && { awaiting_approval: true }),
    ...(state === 'active' && { ended: false, control_mode: 'engaged' as const }),
    ...(state === 'ended' && { ended: true }),
    ...(agent !== undefined && { agent_id: agent }),
    ...(channel !== undefined && { channel }),
    ...(consumer !== undefined && { consumer_key: consumer }),
    ...(words !== undefined && { search: words }),
    ...(from !== undefined && { start_date: dayStart(from).toISOString() }),
    ...(to !== undefined && { end_date: dayStart(to, 1).toISOString() }),
  };
}

export function listConversations(search: InboxSearch, cursor: string | undefined, signal: AbortSignal) {
  const query = { ...queryOf(search), ...(cursor !== undefined && { cursor }) };
  return take(api.GET('/api/v1/sessions', { params: { query }, signal }));
}

/** Whether a conversation that changed belongs into the list. Words of messages are not known here. */
export function belongs(one: Conversation, search: InboxSearch): boolean {
  const { state, agent, channel, consumer, from, to } = search;
  if (agent !== undefined && one.agent_id !== agent) return false;
  if (channel !== undefined && one.channel !== channel) return false;
  if (consumer !== undefined && one.consumer_key !== consumer) return false;
  const at = Date.parse(one.last_interaction);
  if (from !== undefined && at < dayStart(from).getTime()) return false;
  if (to !== undefined && at >= dayStart(to, 1).getTime()) return false;
  if (state === 'waiting') return one.control_mode === 'manual_handoff';
  if (state === 'approval') return one.state === 'awaiting_approval';
  if (state === 'active') return one.ended_at === null && one.control_mode === 'engaged';
  if (state === 'ended') return one.ended_at !== null;
  return true;
}

function dayStart(day: string, later = 0): Date {
  const [year = 1970, month = 1, date = 1] = day.split('-').map(Number);
  const start = new Date(year, month - 1, date + later);
  return Number.isNaN(start.getTime()) ? new Date(0) : start;
}

/** Whom the conversation is with. */
export function nameOf({
  consumer_display_name: name,
  consumer_key: key,
  session_id: id,
}: Conversation): string {
  return name ?? key ?? `Conversation ${id.slice(-6)}`;
}
