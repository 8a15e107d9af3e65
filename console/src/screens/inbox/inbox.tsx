import { createLazyRoute, useNavigate } from '@tanstack/react-router';
import { useCallback, useEffect } from 'react';
import { useAllowed } from '../../session/use-session';
import { cx } from '../../ui/cx';
import { LivenessMark } from '../../ui/liveness-mark';
import { Forbidden } from '../../ui/states';
import { ConversationView } from './conversation-view';
import { InboxFilters } from './inbox-filters';
import { ListPane } from './list-pane';
import type { InboxSearch } from './search';
import { useConversationList } from './use-conversation-list';

export const Route = createLazyRoute('/frame/inbox')({ component: InboxScreen });

function InboxScreen() {
  return useAllowed('sessions:read') ? <Inbox /> : <Forbidden what="conversations" />;
}

/** The list, the open conversation, and whom it is with, side by side; on a phone one after the other. */
function Inbox() {
  const search = Route.useSearch();
  const navigate = useNavigate();
  const { state, liveness, more } = useConversationList(search);
  useEffect(() => {
    document.title = 'Inbox · Troupe';
  }, []);
  const change = useCallback(
    (filters: Partial<Record<keyof InboxSearch, string | undefined>>) =>
      void navigate({
        to: '/inbox',
        search: (old) => ({ ...old, ...filters }) as InboxSearch,
        replace: true,
      }),
    [navigate],
  );
  const open = useCallback(
    (session: string) =>
      void navigate({ to: '/inbox', search: (old) => ({ ...(old as InboxSearch), session }) }),
    [navigate],
  );
  const { session, ...filters } = search;
  return (
    <div className="flex h-[calc(100dvh-3rem)] min-h-0">
      <h1 className="sr-only">Inbox</h1>
      <section
        aria-label="List of conversations"
        className={cx(
          'flex w-full min-w-0 flex-col border-r border-line bg-surface md:w-84 md:shrink-0',
          session !== undefined && 'max-md:hidden',
        )}
      >
        <div className="flex flex-col gap-2 border-b border-line p-3">
          <div className="flex items-center justify-between">
            {/* On a phone the list gives way to the conversation; the heading stays. */}
            <span aria-hidden className="text-xl font-semibold">
              Inbox
            </span>
            <LivenessMark liveness={liveness} />
          </div>
          <InboxFilters search={search} change={change} />
        </div>
        <ListPane
          state={state}
          more={more}
          selected={session}
          filtered={Object.keys(filters).length > 0}
          open={open}
        />
      </section>
      {session === undefined ? (
        <div className="hidden flex-1 items-center justify-center p-6 text-center text-muted md:flex">
          <p>
            Choose a conversation.
            <br />
            <kbd>↑</kbd> and <kbd>↓</kbd> in the list go through them.
          </p>
        </div>
      ) : (
        <ConversationView key={session} id={session} close={() => change({ session: undefined })} />
      )}
    </div>
  );
}
