import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, take } from '../../api/client';
import { readAnew, useKey } from '../../api/queries';
import { useRealtime } from '../../api/realtime';
import { Failure, Loading } from '../../ui/states';
import { Composer } from './composer';
import { ConversationHeader } from './conversation-header';
import { PendingApprovals } from './approvals';
import { Profile } from './profile';
import { Transcript } from './transcript';
import { useLiveTurns } from './use-live-turns';

/** One conversation: what was said and is being said, what a person may do, and whom it is with. */
export function ConversationView({ id, close }: { readonly id: string; readonly close: () => void }) {
  const [profileOpen, setProfileOpen] = useState(false);
  const key = useKey('conversation', id);
  const conversation = useQuery({
    queryKey: key,
    queryFn: ({ signal }) => take(api.GET('/api/v1/sessions/{id}', { params: { path: { id } }, signal })),
  });
  const messagesKey = useKey('conversation messages', id);
  const approvalsKey = useKey('conversation approvals', id);
  const refresh = (): void => {
    for (const queryKey of [key, messagesKey, approvalsKey]) void readAnew(queryKey);
  };
  useRealtime(({ data }) => {
    if (data['session_id'] === id) refresh();
  }, refresh);
  const turns = useLiveTurns(id, refresh);
  if (conversation.data === undefined) {
    return (
      <div className="min-w-0 flex-1">
        {conversation.isError ? (
          <Failure error={conversation.error} retry={() => void conversation.refetch()} />
        ) : (
          <Loading label="Conversation" />
        )}
      </div>
    );
  }
  const session = conversation.data.data;
  return (
    <>
      <section aria-label="Conversation" className="flex min-w-0 flex-1 flex-col bg-ground">
        <ConversationHeader
          session={session}
          running={turns.some(({ doneAtMs }) => doneAtMs === undefined)}
          changed={refresh}
          close={close}
          profileOpen={profileOpen}
          toggleProfile={() => setProfileOpen(!profileOpen)}
        />
        <Transcript session={session} queryKey={messagesKey} turns={turns} />
        <PendingApprovals sessionId={id} queryKey={approvalsKey} changed={refresh} />
        <Composer session={session} changed={refresh} />
      </section>
      <Profile session={session} open={profileOpen} close={() => setProfileOpen(false)} />
    </>
  );
}
