import { useInfiniteQuery } from '@tanstack/react-query';
import { useLayoutEffect, useRef } from 'react';
import { api, take } from '../../api/client';
import { MoreRows } from '../../ui/more-rows';
import { Failure, Loading } from '../../ui/states';
import type { Conversation } from './conversations';
import { LiveTurnView } from './live-turn-view';
import { MessageView } from './message-view';
import type { LiveTurn } from './use-live-turns';

/** What was said, oldest first, and below it what is being said. It stays at its end while a person is there. */
export function Transcript({
  session,
  queryKey,
  turns,
}: {
  readonly session: Conversation;
  readonly queryKey: readonly unknown[];
  readonly turns: readonly LiveTurn[];
}) {
  const id = session.session_id;
  const pages = useInfiniteQuery({
    queryKey,
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) =>
      take(
        api.GET('/api/v1/sessions/{id}/messages', {
          params: {
            path: { id },
            query: { order: 'desc', limit: 50, ...(pageParam !== undefined && { cursor: pageParam }) },
          },
          signal,
        }),
      ),
    getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
  });
  const messages = (pages.data?.pages.flatMap(({ data }) => data) ?? []).toReversed();
  const answered = new Set(
    messages.flatMap(({ role, execution_id: e }) => (role === 'assistant' && e !== null ? [e] : [])),
  );
  // A turn is shown until its message is here; without one, until the messages were read after its end.
  const shown = turns.filter(
    ({ executionId, doneAtMs, error }) =>
      !answered.has(executionId) &&
      (doneAtMs === undefined || error !== undefined || doneAtMs >= pages.dataUpdatedAt),
  );
  const box = useStickToEnd();
  if (pages.isPending || (pages.isError && messages.length === 0)) {
    return (
      <div className="min-h-0 flex-1 overflow-y-auto">
        {pages.isPending ? (
          <Loading label="Messages" />
        ) : (
          <Failure error={pages.error} retry={() => void pages.refetch()} />
        )}
      </div>
    );
  }
  return (
    <div
      ref={box}
      className="min-h-0 flex-1 overflow-y-auto p-4"
      tabIndex={0}
      role="region"
      aria-label="Transcript"
    >
      <div className="mx-auto flex max-w-3xl flex-col gap-4">
        <MoreRows
          query={pages}
          more={pages.hasNextPage ? () => void pages.fetchNextPage() : undefined}
          verb="Earlier messages"
        />
        {messages.length === 0 && shown.length === 0 && (
          <p className="py-12 text-center text-muted">No message yet.</p>
        )}
        {messages.map((message) => (
          <MessageView key={message.id} message={message} session={session} />
        ))}
        {shown.map((turn) => (
          <LiveTurnView key={turn.executionId} turn={turn} />
        ))}
      </div>
    </div>
  );
}

/** Stays at the end when something is added, unless the person has scrolled up. */
function useStickToEnd() {
  const box = useRef<HTMLDivElement>(null);
  const atEnd = useRef(true);
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    if (atEnd.current) element.scrollTop = element.scrollHeight;
    const look = (): void => {
      atEnd.current = element.scrollHeight - element.scrollTop - element.clientHeight < 60;
    };
    element.addEventListener('scroll', look, { passive: true });
    return () => element.removeEventListener('scroll', look);
  });
  return box;
}
