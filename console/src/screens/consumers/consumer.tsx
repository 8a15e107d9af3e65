import { useQuery } from '@tanstack/react-query';
import { createLazyRoute, Link } from '@tanstack/react-router';
import { useState } from 'react';
import { api, take } from '../../api/client';
import { useKey } from '../../api/queries';
import { useAllowed } from '../../session/use-session';
import { Badge } from '../../ui/badge';
import { Button } from '../../ui/button';
import { channelName } from '../../ui/channel';
import { CopyAs } from '../../ui/copy-as';
import { count } from '../../ui/numbers';
import { Card, Facts, Page } from '../../ui/page';
import { Forbidden, Loaded } from '../../ui/states';
import { Time } from '../../ui/time';
import { ConversationsOf } from './conversations-of';
import { DenyButton } from './deny-button';
import { EraseDialog } from './erase-dialog';
import { MemoryFacts } from './memory-facts';
import { useConsumerEvents } from './use-consumer-events';

export const Route = createLazyRoute('/frame/consumers/$key')({ component: ConsumerScreen });

function ConsumerScreen() {
  const { key } = Route.useParams();
  return useAllowed('consumers:read') ? (
    <Consumer key={key} consumerKey={key} />
  ) : (
    <Forbidden what="consumers" />
  );
}

function Consumer({ consumerKey }: { readonly consumerKey: string }) {
  const mayErase = useAllowed('consumers:delete');
  const [erasing, setErasing] = useState(false);
  useConsumerEvents(consumerKey);
  const query = useQuery({
    queryKey: useKey('consumer', consumerKey),
    queryFn: ({ signal }) =>
      take(api.GET('/api/v1/consumers/{key}', { params: { path: { key: consumerKey } }, signal })),
  });
  return (
    <Loaded query={query}>
      {({ data }) => (
        <Page
          title={data.display_name ?? consumerKey}
          description={
            <Link to="/consumers" className="underline">
              Consumers
            </Link>
          }
          actions={
            <>
              <CopyAs
                request={{
                  method: 'GET',
                  path: `/api/v1/consumers/${encodeURIComponent(consumerKey)}`,
                  mcp: { tool: 'get_consumer', arguments: { consumer_key: consumerKey } },
                }}
              />
              <DenyButton consumerKey={consumerKey} blocked={data.blocked} />
              {mayErase && (
                <Button kind="dangerous" onClick={() => setErasing(true)}>
                  Erase
                </Button>
              )}
            </>
          }
        >
          <div className="grid gap-4 lg:grid-cols-2">
            <Card title="Person">
              <Facts
                facts={[
                  ['Key', <code key="key">{consumerKey}</code>],
                  [
                    'State',
                    data.blocked ? <Badge tone="bad">denied</Badge> : <Badge tone="good">served</Badge>,
                  ],
                  ...(data.blocked && data.blocked_reason != null
                    ? [['Denied for', data.blocked_reason] as const]
                    : []),
                  ['Channels', data.channels.map(channelName).join(', ') || '–'],
                  ['Conversations', count(data.total_sessions)],
                  ['Turns', count(data.total_turns)],
                  ['First seen', <Time key="first" at={data.first_seen} exactly />],
                  ['Last seen', <Time key="last" at={data.last_seen} exactly />],
                ]}
              />
            </Card>
            <Card title="What agents remember">
              <MemoryFacts consumerKey={consumerKey} />
            </Card>
          </div>
          <ConversationsOf consumerKey={consumerKey} />
          {erasing && <EraseDialog consumerKey={consumerKey} onClose={() => setErasing(false)} />}
        </Page>
      )}
    </Loaded>
  );
}
