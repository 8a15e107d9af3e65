import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { api, take } from '../../../api/client';
import { useKey } from '../../../api/queries';
import { useAllowed } from '../../../session/use-session';
import { StatusBadge } from '../../../ui/badge';
import { buttonClass } from '../../../ui/button';
import { DataTable, type Column } from '../../../ui/data-table';
import { Dialog } from '../../../ui/dialog';
import { JsonView } from '../../../ui/json-view';
import { dollars } from '../../../ui/numbers';
import { Facts } from '../../../ui/page';
import { Loaded } from '../../../ui/states';
import { duration, Time } from '../../../ui/time';
import type { ExecutionDetail } from '../types';

/** One execution with its steps and the attempts of its deliveries. */
export function ExecutionDialog({
  triggerId,
  executionId,
  onClose,
}: {
  readonly triggerId: string;
  readonly executionId: string | undefined;
  readonly onClose: () => void;
}) {
  return (
    <Dialog
      open={executionId !== undefined}
      onClose={onClose}
      title="Execution"
      description={executionId}
      wide
    >
      {executionId !== undefined && <Detail triggerId={triggerId} executionId={executionId} />}
    </Dialog>
  );
}

function Detail({ triggerId, executionId }: { readonly triggerId: string; readonly executionId: string }) {
  const query = useQuery({
    queryKey: useKey('triggers', triggerId, 'executions', 'one', executionId),
    queryFn: ({ signal }) =>
      take(
        api.GET('/api/triggers/{id}/executions/{executionId}', {
          params: { path: { id: triggerId, executionId } },
          signal,
        }),
      ),
  });
  return <Loaded query={query}>{({ data }) => <Content execution={data} />}</Loaded>;
}

type Step = ExecutionDetail['steps'][number];
type Attempt = ExecutionDetail['deliveries'][number];

const tookMs = ({ started_at: from, finished_at: to }: Step): string =>
  to === null ? '' : duration(Date.parse(to) - Date.parse(from));

const stepColumns: readonly Column<Step>[] = [
  { title: 'Step', cell: ({ name }) => <code className="font-mono text-xs wrap-anywhere">{name}</code> },
  { title: 'Kind', cell: ({ kind }) => kind },
  { title: 'State', cell: ({ state }) => <StatusBadge status={state} /> },
  { title: 'Time', numeric: true, cell: tookMs },
];

const attemptColumns: readonly Column<Attempt>[] = [
  { title: 'Attempt', cell: ({ chunk, attempt }) => `${attempt} of part ${chunk}` },
  { title: 'Status', cell: ({ status_code: code }) => code ?? 'none' },
  { title: 'Error', cell: ({ error }) => <span className="wrap-anywhere">{error ?? ''}</span> },
  { title: 'When', numeric: true, cell: ({ at }) => <Time at={at} exactly /> },
];

function Content({ execution }: { readonly execution: ExecutionDetail }) {
  const { status, error, model, cost, latency_ms: latency } = execution;
  return (
    <div className="flex flex-col gap-5">
      <Facts
        facts={[
          ['Status', <StatusBadge key="status" status={status} />],
          ...(error === undefined ? [] : [['Error', `${error.code}: ${error.message}`] as const]),
          ['Accepted', <Time key="at" at={execution.created_at} exactly />],
          ['Took', latency === null ? '' : duration(latency)],
          ['Model', model ?? 'none'],
          ['Cost', dollars(cost)],
          ['Message', <Text key="in" text={execution.input_preview} />],
          ['Answer', <Text key="out" text={execution.output_preview} />],
        ]}
      />
      <Further execution={execution} />
      {execution.buffered_messages.length > 0 && (
        <section aria-label="Gathered messages">
          <h3 className="mb-1 text-sm font-medium">Gathered messages</h3>
          <ul className="flex flex-col gap-1 text-sm">
            {execution.buffered_messages.map(({ message, at }, index) => (
              <li key={`${at} ${index}`} className="flex justify-between gap-3">
                <span className="wrap-anywhere">{message}</span>
                <Time at={at} />
              </li>
            ))}
          </ul>
        </section>
      )}
      {execution.steps.length > 0 && (
        <section>
          <h3 className="mb-1 text-sm font-medium">Steps</h3>
          <DataTable
            caption="Steps"
            columns={stepColumns}
            rows={execution.steps}
            keyOf={({ number }) => String(number)}
          />
        </section>
      )}
      {execution.deliveries.length > 0 && (
        <section>
          <h3 className="mb-1 text-sm font-medium">Attempts to deliver the answer</h3>
          <DataTable
            caption="Attempts to deliver"
            columns={attemptColumns}
            rows={execution.deliveries}
            keyOf={({ chunk, attempt, at }) => `${chunk} ${attempt} ${at}`}
          />
        </section>
      )}
      {Object.keys(execution.context).length > 0 && (
        <section>
          <h3 className="mb-1 text-sm font-medium">Context</h3>
          <JsonView value={execution.context} label="context" />
        </section>
      )}
    </div>
  );
}

/** The turn with its waterfall, and the conversation that it belongs to. */
function Further({ execution: { id, session_id: session } }: { readonly execution: ExecutionDetail }) {
  const maySeeSessions = useAllowed('sessions:read');
  return (
    <div className="flex flex-wrap gap-2">
      <Link to="/turns/$executionId" params={{ executionId: id }} className={buttonClass()}>
        Open the turn
      </Link>
      {session !== null && maySeeSessions && (
        <Link to="/inbox" search={{ session }} className={buttonClass()}>
          Open the conversation
        </Link>
      )}
    </div>
  );
}

const Text = ({ text }: { readonly text: string }) => (
  <span className="wrap-anywhere whitespace-pre-wrap">{text}</span>
);
