import { useQuery } from '@tanstack/react-query';
import { createLazyRoute, Link } from '@tanstack/react-router';
import { api, take, tenantHeader } from '../../api/client';
import { useKey } from '../../api/queries';
import { useAllowed } from '../../session/use-session';
import { AgentName } from '../../ui/agent-name';
import { AttemptsTable } from '../../ui/attempts-table';
import { StatusBadge } from '../../ui/badge';
import { CopyAs } from '../../ui/copy-as';
import { Code } from '../../ui/json-view';
import { count, dollars } from '../../ui/numbers';
import { Card, Facts, Page } from '../../ui/page';
import { Forbidden, Loaded } from '../../ui/states';
import { duration, Time } from '../../ui/time';
import type { Call } from './call-pages';

export const Route = createLazyRoute('/frame/calls/$callId')({ component: CallScreen });

/** One call whole: what was said as far as it is kept, what it took, and which vendors were asked. */
function CallScreen() {
  const { callId: id } = Route.useParams();
  const mayRead = useAllowed('telemetry:read');
  const query = useQuery({
    queryKey: useKey('calls', 'one', id),
    queryFn: ({ signal }) =>
      take(api.GET('/api/telemetry/logs/{id}', { params: { path: { id }, header: tenantHeader() }, signal })),
    enabled: mayRead,
  });
  return (
    <Page
      title="Call"
      description={
        <span className="flex flex-wrap items-center gap-2">
          <Link to="/calls" className="underline">
            Calls
          </Link>
          <code className="text-xs wrap-anywhere">{id}</code>
        </span>
      }
      actions={mayRead && <CopyAs request={{ method: 'GET', path: `/api/telemetry/logs/${id}` }} />}
    >
      {mayRead ? (
        <Loaded query={query}>
          {({ data: { attempts, ...call } }) => (
            <>
              <Figures call={call} />
              <div className="grid items-start gap-4 lg:grid-cols-2">
                <Said title="What the model saw" text={call.metadata.input_preview} />
                <Said title="What the model said" text={call.metadata.output_preview} />
              </div>
              <Card title="Attempts">
                {attempts.length === 0 ? (
                  <p className="text-sm text-muted">
                    {call.metadata.source === 'response_cache'
                      ? 'The answer came from the response cache; no vendor was asked.'
                      : 'Its attempts are kept no longer.'}
                  </p>
                ) : (
                  <AttemptsTable attempts={attempts} />
                )}
              </Card>
            </>
          )}
        </Loaded>
      ) : (
        <Forbidden what="calls of models" />
      )}
    </Page>
  );
}

function Figures({ call }: { readonly call: Call }) {
  return (
    <Card>
      <div className="grid gap-x-8 gap-y-1.5 md:grid-cols-2">
        <Facts
          facts={[
            ['Outcome', <StatusBadge key="outcome" status={call.status} />],
            ...(call.failure === null ? [] : [['Why it failed', call.failure] as const]),
            ['Model', call.model],
            ...(call.first_model === call.model ? [] : [['Asked first', call.first_model] as const]),
            ['Vendor', call.provider],
            ['Source', call.call_source],
            ['Agent', call.agent_id === null ? '–' : <AgentName key="agent" id={call.agent_id} />],
            ['When', <Time key="when" at={call.timestamp} exactly />],
          ]}
        />
        <Facts
          facts={[
            ['Took', duration(call.response_time_ms)],
            ['Input tokens', count(call.input_tokens)],
            ['Output tokens', count(call.output_tokens)],
            ['From the cache', count(call.cached_tokens)],
            ['Written to the cache', count(call.cache_creation_tokens)],
            ['Cost', dollars(call.cost)],
            ['Belongs to', <Origin key="origin" call={call} />],
          ]}
        />
      </div>
    </Card>
  );
}

function Origin({ call: { execution_id: turn, session_id: session } }: { readonly call: Call }) {
  const linkClass = 'text-accent underline';
  if (turn !== null) {
    return (
      <Link to="/turns/$executionId" params={{ executionId: turn }} className={linkClass}>
        a turn, with all that was said
      </Link>
    );
  }
  if (session === null) return 'no conversation: a direct call';
  return (
    <Link to="/inbox" search={{ session }} className={linkClass}>
      a conversation
    </Link>
  );
}

function Said({ title, text }: { readonly title: string; readonly text: string }) {
  return (
    <Card title={title}>
      {text === '' ? (
        <p className="text-sm text-muted">Nothing is kept of it.</p>
      ) : (
        <div className="flex flex-col gap-2">
          <Code text={text} label={`the beginning of ${title.toLowerCase()}`} />
          <p className="text-xs text-muted">The beginning, as the log of calls keeps it.</p>
        </div>
      )}
    </Card>
  );
}
