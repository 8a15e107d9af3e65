import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { paths } from '#api/openapi';
import { CopyButton } from '../../ui/copy-button';
import { Facts } from '../../ui/page';
import { Time } from '../../ui/time';
import { adviceOf } from './error-advice';

export type TenantError =
  paths['/api/v1/errors']['get']['responses'][200]['content']['application/json']['data'][number];

/** An id that people search for elsewhere. */
function Id({
  text,
  what,
  children,
}: {
  readonly text: string;
  readonly what: string;
  readonly children?: ReactNode;
}) {
  return (
    <span className="flex items-center gap-1">
      <span className="min-w-0 font-mono text-xs wrap-anywhere">{children ?? text}</span>
      <CopyButton text={text} label={`Copy the id of the ${what}`} />
    </span>
  );
}

/** One error whole. `children`: further facts between its time and its place. */
export function ErrorFacts({
  error,
  agent,
  trigger,
  execution,
  more = [],
}: {
  readonly error: TenantError;
  /** What stands for the agent, the trigger and the execution; without them their ids. */
  readonly agent?: ReactNode;
  readonly trigger?: ReactNode;
  readonly execution?: ReactNode;
  readonly more?: readonly (readonly [string, ReactNode])[];
}) {
  const advice = adviceOf(error.error);
  return (
    <div className="flex flex-col gap-4">
      <div className="text-sm wrap-anywhere">
        <p>{error.message}</p>
        {advice !== undefined && <p className="text-muted">{advice}</p>}
      </div>
      <Facts
        facts={[
          ['Code', <Id key="code" text={error.error} what="code" />],
          ['When', <Time key="when" at={error.timestamp} exactly />],
          ...more,
          ['Operation', error.operation === 'turns.run' ? 'a turn' : (error.operation ?? '—')],
          ...optional('Request', error.request_id, 'request'),
          ...optional('Execution', error.execution_id, 'execution', execution),
          ...optional('Agent', error.agent_id, 'agent', agent),
          ...optional('Trigger', error.trigger_id, 'trigger', trigger),
          [
            'Node',
            <span key="node" className="font-mono text-xs">
              {error.node}
            </span>,
          ],
        ]}
      />
    </div>
  );
}

function optional(
  name: string,
  id: string | null,
  what: string,
  shown?: ReactNode,
): readonly (readonly [string, ReactNode])[] {
  if (id === null) return [];
  return [
    [
      name,
      <Id key={name} text={id} what={what}>
        {shown}
      </Id>,
    ],
  ];
}

export function ExecutionLink({ id }: { readonly id: string }) {
  return (
    <Link to="/turns/$executionId" params={{ executionId: id }} className="text-accent underline">
      {id}
    </Link>
  );
}
