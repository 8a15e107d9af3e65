import { createLazyRoute, Link, useNavigate } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { useAgentNames } from '../../api/agent-names';
import { useAllowed } from '../../session/use-session';
import { Badge, StatusBadge } from '../../ui/badge';
import { Button } from '../../ui/button';
import { CopyAs } from '../../ui/copy-as';
import { count, dollars } from '../../ui/numbers';
import { Card, Facts, Page } from '../../ui/page';
import { Forbidden, Loaded } from '../../ui/states';
import { duration, Time } from '../../ui/time';
import { Replay } from './replay';
import { SpanDetail } from './span-detail';
import { spansOf } from './spans';
import { type Execution, isOver, type TurnCall, type TurnEvents, useTurn } from './turn-data';
import { Waterfall } from './waterfall';

export const Route = createLazyRoute('/frame/turns/$executionId')({ component: TurnScreen });

function TurnScreen() {
  const { executionId } = Route.useParams();
  return useAllowed('executions:read') ? (
    <Turn key={executionId} id={executionId} />
  ) : (
    <Forbidden what="turns" />
  );
}

function Turn({ id }: { readonly id: string }) {
  const { execution, calls, events } = useTurn(id);
  return (
    <Loaded query={execution}>
      {({ data }) => <TurnView execution={data} calls={calls} events={events} />}
    </Loaded>
  );
}

function TurnView({
  execution,
  calls,
  events,
}: {
  readonly execution: Execution;
  readonly calls: readonly TurnCall[];
  readonly events: TurnEvents;
}) {
  const { step } = Route.useSearch();
  const navigate = useNavigate();
  const mayCall = useAllowed('llm:call');
  const [replaying, setReplaying] = useState(false);
  const [other, setOther] = useState<string | undefined>(undefined);
  const nowMs = useNow(!isOver(execution));
  const spans = spansOf(execution, calls, nowMs);
  const selected = other ?? (step === undefined ? 'turn' : `step-${step}`);
  const select = (key: string): void => {
    setOther(key);
    const number = /^step-(\d+)$/.exec(key)?.[1];
    void navigate({
      to: '/turns/$executionId',
      params: { executionId: execution.id },
      search: number === undefined ? {} : { step: Number(number) },
      replace: true,
    });
  };
  const span = spans.find(({ key }) => key === selected) ?? spans[0];
  return (
    <Page
      title="Turn"
      description={
        <span className="flex flex-wrap items-center gap-2">
          <Link to="/turns" className="underline">
            Turns
          </Link>
          <code className="text-xs wrap-anywhere">{execution.id}</code>
        </span>
      }
      actions={
        <>
          <CopyAs
            request={{
              method: 'GET',
              path: `/api/v1/executions/${execution.id}`,
              mcp: { tool: 'get_execution', arguments: { execution_id: execution.id } },
            }}
          />
          {mayCall && execution.session_id !== null && (
            <Button kind="primary" aria-expanded={replaying} onClick={() => setReplaying(!replaying)}>
              Compare
            </Button>
          )}
        </>
      }
    >
      <Summary execution={execution} events={events} calls={calls} />
      {replaying && <Replay execution={execution} />}
      {spans.length === 0 ? (
        <p className="py-8 text-center text-muted">
          The turn waits in the queue. Its steps appear here as they begin.
        </p>
      ) : (
        <div className="grid items-start gap-4 xl:grid-cols-[minmax(0,1fr)_26rem]">
          <Waterfall spans={spans} selected={span?.key ?? 'turn'} select={select} />
          {span !== undefined && <SpanDetail span={span} execution={execution} text={events.text} />}
        </div>
      )}
    </Page>
  );
}

/** Now, moved on while something runs. */
function useNow(running: boolean): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    if (!running) return undefined;
    const timer = setInterval(() => setNow(Date.now()), 500);
    return () => clearInterval(timer);
  }, [running]);
  return now;
}

function Summary({
  execution,
  events,
  calls,
}: {
  readonly execution: Execution;
  readonly events: TurnEvents;
  readonly calls: readonly TurnCall[];
}) {
  const names = useAgentNames();
  const { status, error, usage, cost, latency_ms: ms, model, provider, timeout_clock: clock } = execution;
  const fallbacks = calls.filter((call) => call.first_model !== call.model).length;
  const retries = calls.reduce((sum, call) => sum + Math.max(0, call.attempts.length - 1), 0);
  return (
    <Card>
      <div className="flex flex-col gap-3">
        <div className="flex flex-wrap items-center gap-2">
          <StatusBadge status={status} />
          {clock !== null && <Badge tone="bad">clock: {clock.replaceAll('_', ' ')}</Badge>}
          {events.restarts > 0 && <Badge tone="warn">continued by another node</Badge>}
          {fallbacks > 0 && <Badge tone="warn">{fallbacks} answered by another model</Badge>}
          {retries > 0 && <Badge tone="warn">{retries} further attempts</Badge>}
          {execution.delivery_status !== 'none' && <StatusBadge status={execution.delivery_status} />}
        </div>
        {error !== null && (
          <p role="alert" className="rounded-md bg-bad-soft px-3 py-2 text-sm text-bad wrap-anywhere">
            <code>{error.code}</code>: {error.message}
          </p>
        )}
        <div className="grid gap-x-8 gap-y-1.5 md:grid-cols-2">
          <Facts
            facts={[
              ['Agent', names.get(execution.agent_id) ?? execution.agent_id],
              ['Model', model === null ? '–' : `${model}${provider === null ? '' : ` (${provider})`}`],
              [
                'Began',
                execution.started_at === null ? (
                  'not yet'
                ) : (
                  <Time key="at" at={execution.started_at} exactly />
                ),
              ],
            ]}
          />
          <Facts
            facts={[
              ['Time', ms === null ? '–' : duration(ms)],
              [
                'Tokens',
                usage === null ? '–' : `${count(usage.input_tokens)} in, ${count(usage.output_tokens)} out`,
              ],
              ['Cost', dollars(cost)],
            ]}
          />
        </div>
        {execution.session_id !== null && (
          <Link
            to="/inbox"
            search={{ session: execution.session_id }}
            className="text-sm text-accent underline"
          >
            Open the conversation
          </Link>
        )}
      </div>
    </Card>
  );
}
