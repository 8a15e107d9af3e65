import { channelName } from '../../ui/channel';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { api, take } from '../../api/client';
import { isMissing } from '../../api/errors';
import { useKey } from '../../api/queries';
import { useAllowed } from '../../session/use-session';
import { Badge } from '../../ui/badge';
import { count } from '../../ui/numbers';
import { Facts } from '../../ui/page';
import { Loaded } from '../../ui/states';
import { Time } from '../../ui/time';
import { DenyButton } from './deny-button';
import { MemoryFacts } from './memory-facts';
import { useConsumerEvents } from './use-consumer-events';

/** A consumer in brief: beside a conversation. */
export function PersonCard({ consumerKey }: { readonly consumerKey: string }) {
  const mayRead = useAllowed('consumers:read');
  const key = useKey('consumer', consumerKey);
  useConsumerEvents(consumerKey);
  const query = useQuery({
    queryKey: key,
    enabled: mayRead,
    queryFn: ({ signal }) =>
      take(api.GET('/api/v1/consumers/{key}', { params: { path: { key: consumerKey } }, signal })),
  });
  if (!mayRead || isMissing(query.error)) {
    return (
      <div className="border-b border-line p-4">
        <Facts facts={[['Key', consumerKey]]} />
        {!mayRead && (
          <p className="mt-2 text-xs text-muted">Your role does not include the profiles of people.</p>
        )}
      </div>
    );
  }
  return (
    <Loaded query={query}>
      {({ data }) => (
        <>
          <section aria-label="Person" className="flex flex-col gap-3 border-b border-line p-4">
            <div className="flex items-center justify-between gap-2">
              <Link
                to="/consumers/$key"
                params={{ key: consumerKey }}
                className="min-w-0 truncate text-sm font-medium text-accent underline"
              >
                {data.display_name ?? consumerKey}
              </Link>
              {data.blocked && <Badge tone="bad">denied</Badge>}
            </div>
            <Facts
              facts={[
                ['Key', consumerKey],
                ['Channels', data.channels.map(channelName).join(', ') || '–'],
                ['Conversations', count(data.total_sessions)],
                ['Turns', count(data.total_turns)],
                ['First seen', <Time key="at" at={data.first_seen} />],
                ['Last seen', <Time key="at" at={data.last_seen} />],
                ...(data.blocked && data.blocked_reason != null
                  ? [['Denied for', data.blocked_reason] as const]
                  : []),
              ]}
            />
            <div className="flex flex-wrap gap-2">
              <DenyButton consumerKey={consumerKey} blocked={data.blocked} />
              <Link
                to="/inbox"
                search={{ consumer: consumerKey }}
                className="inline-flex h-8 items-center rounded-md border border-line px-3 text-sm font-medium hover:bg-hover"
              >
                Conversations
              </Link>
            </div>
          </section>
          <section aria-label="Memory" className="border-b border-line p-4">
            <h3 className="mb-2 text-xs font-medium text-muted">What agents remember</h3>
            <MemoryFacts consumerKey={consumerKey} />
          </section>
        </>
      )}
    </Loaded>
  );
}
