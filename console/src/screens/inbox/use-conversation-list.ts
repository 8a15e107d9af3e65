import { useCallback, useEffect, useMemo, useState } from 'react';
import { useLiveStream } from '../../api/live-stream';
import { type RealtimeEvent, type Liveness, useRealtime } from '../../api/realtime';
import { useValue } from '../../session/value';
import { ConversationList, type ListState } from './conversation-list';
import type { Conversation } from './conversations';
import type { InboxSearch } from './search';

/** The conversations that a search finds, as they change. */
export function useConversationList(search: InboxSearch): {
  readonly state: ListState;
  readonly liveness: Liveness;
  readonly more: () => void;
} {
  const { session: _, ...filters } = search;
  const key = JSON.stringify(filters);
  const [list, setList] = useState(() => new ConversationList(filters));
  const [shownKey, setShownKey] = useState(key);
  if (shownKey !== key) {
    setShownKey(key);
    setList(new ConversationList(filters));
  }
  useEffect(() => {
    void list.more();
    return () => list.end();
  }, [list]);
  const liveness = useLiveStream('/api/v1/realtime/sessions', {
    opened: () => void list.refresh(),
    receive: ({ type: event, data }) => {
      if (event === 'sessions_cut') return void list.refresh();
      if (event !== 'sessions_changed' || data === undefined) return;
      list.change((JSON.parse(data) as { sessions: readonly Conversation[] }).sessions);
    },
  });
  useRealtime(
    (event) => applyTo(list, event),
    () => void list.refresh(),
  );
  const state = useValue(list.state);
  const more = useCallback(() => void list.more(), [list]);
  return useMemo(() => ({ state, liveness, more }), [state, liveness, more]);
}

const text = (value: unknown): string | null => (typeof value === 'string' ? value : null);

/** What the stream of conversations does not tell: control and approvals. */
function applyTo(list: ConversationList, { type, data, at }: RealtimeEvent): void {
  const id = text(data['session_id']);
  if (id === null) return;
  if (type === 'session_control_changed') {
    const mode = data['control_mode'] === 'manual_handoff' ? 'manual_handoff' : 'engaged';
    const kind = data['kind'] === 'suspend' || data['kind'] === 'handoff' ? data['kind'] : null;
    list.patch(id, (one) => ({
      ...one,
      control_mode: mode,
      control_metadata: {
        kind,
        reason: text(data['reason']),
        by: text(data['by']),
        since: at,
        expires_at: null,
      },
    }));
  }
  if (type === 'approval_requested') list.patch(id, (one) => ({ ...one, state: 'awaiting_approval' }));
  if (type === 'approval_decided') {
    list.patch(id, (one) => ({ ...one, state: 'active' }));
    // Another call of the conversation may still wait for a decision.
    void list.refresh();
  }
}
