import { Link } from '@tanstack/react-router';
import { Wrench } from 'lucide-react';
import { useAllowed } from '../../session/use-session';
import { Markdown } from '../../ui/markdown';
import { duration } from '../../ui/time';
import type { LiveTurn } from './use-live-turns';

const phases: Readonly<Record<string, string>> = {
  load: 'Loading the conversation',
  intent: 'Finding the intent',
  model: 'The model answers',
  tools: 'Calling tools',
  approval: 'Waits for an approval',
  finish: 'Finishing',
};

/** The answer while it is written. */
export function LiveTurnView({ turn }: { readonly turn: LiveTurn }) {
  const mayReadTurns = useAllowed('executions:read');
  const { executionId, text, phase, tools, restarted, queued, error, doneAtMs } = turn;
  const done = doneAtMs !== undefined;
  return (
    <article
      aria-label="Answer that is being written"
      aria-busy={!done}
      className="flex flex-col items-end gap-1"
    >
      <div className="flex items-center gap-2 text-xs text-muted">
        {!done && <span aria-hidden className="size-2 animate-pulse rounded-full bg-accent" />}
        <span>
          {error !== undefined
            ? 'Failed'
            : queued
              ? 'Waits for the turn before it'
              : (phases[phase ?? ''] ?? 'Begins')}
        </span>
        {mayReadTurns && (
          <Link to="/turns/$executionId" params={{ executionId }} className="underline hover:text-text">
            Turn
          </Link>
        )}
      </div>
      {restarted && <p className="text-xs text-warn">Continued by another node after a fault.</p>}
      {tools.map(({ id, name, state, latencyMs }) => (
        <p key={id} className="flex items-center gap-1 text-xs text-muted">
          <Wrench size={12} aria-hidden />
          {name} {state}
          {latencyMs !== undefined && ` in ${duration(latencyMs)}`}
        </p>
      ))}
      {(text !== '' || error !== undefined) && (
        <div className="max-w-[min(42rem,92%)] rounded-lg border border-accent bg-accent-soft px-3 py-2 text-sm">
          {text !== '' && <Markdown text={text} />}
          {error !== undefined && <p className="text-bad">{error}</p>}
        </div>
      )}
    </article>
  );
}
