import type { ReactNode } from 'react';
import { StatusBadge } from '../../ui/badge';
import { Code, JsonView } from '../../ui/json-view';
import { Markdown } from '../../ui/markdown';
import { count, dollars } from '../../ui/numbers';
import { Card, Facts } from '../../ui/page';
import { duration, Time } from '../../ui/time';
import { AttemptsTable } from '../../ui/attempts-table';
import type { Span } from './spans';
import { SeenMessages } from './seen-messages';
import { type Execution, isOver, readableJson, type Step, type TurnCall } from './turn-data';

/** What one bar of the waterfall holds: what went in, what came out, what it took. */
export function SpanDetail({
  span,
  execution,
  text,
}: {
  readonly span: Span;
  readonly execution: Execution;
  readonly text: string;
}) {
  const facts: (readonly [string, ReactNode])[] = [
    ['State', <StatusBadge key="state" status={span.state} />],
    ['Began', <Time key="at" at={new Date(span.fromMs).toISOString()} exactly />],
    ['Took', duration(span.toMs - span.fromMs)],
  ];
  if (span.tokens !== undefined) facts.push(['Tokens', count(span.tokens)]);
  if (span.cost !== undefined) facts.push(['Cost', dollars(span.cost)]);
  return (
    <Card title={span.title}>
      <div className="flex flex-col gap-4">
        <Facts facts={facts} />
        {span.kind === 'turn' && <TurnAnswer execution={execution} text={text} />}
        {span.attempt !== undefined && <AttemptsTable attempts={[span.attempt]} />}
        {span.kind === 'tool' && <ToolDetail detail={span.step?.detail ?? {}} />}
        {(span.kind === 'model' || span.kind === 'intent') && (
          <ModelDetail step={span.step} call={span.call} execution={execution} />
        )}
        {span.kind === 'agent' && (
          <p className="text-sm text-muted">
            A step of a sub-agent. Its texts are not kept; the answer of the tool holds what came of them.
          </p>
        )}
      </div>
    </Card>
  );
}

function Part({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <section aria-label={title}>
      <h3 className="mb-1 text-xs font-medium text-muted">{title}</h3>
      {children}
    </section>
  );
}

function TurnAnswer({ execution, text }: { readonly execution: Execution; readonly text: string }) {
  const answer = execution.response ?? (isOver(execution) ? '' : text);
  return (
    <>
      <Part title="Answer">
        {answer === '' ? (
          <p className="text-sm text-muted">{isOver(execution) ? 'None.' : 'Not yet.'}</p>
        ) : (
          <div className="max-h-96 overflow-y-auto text-sm" tabIndex={0} role="region" aria-label="Answer">
            <Markdown text={answer} />
          </div>
        )}
      </Part>
      {execution.parsed != null && (
        <Part title="Answer as a value">
          <JsonView value={execution.parsed} label="Answer as a value" />
        </Part>
      )}
      {Object.keys(execution.metadata).length > 0 && (
        <Part title="Metadata">
          <JsonView value={execution.metadata} label="Metadata" />
        </Part>
      )}
    </>
  );
}

type Detail = Readonly<Record<string, unknown>>;

function ToolDetail({ detail }: { readonly detail: Detail }) {
  const { arguments: given, result } = detail;
  return (
    <>
      <Part title="Arguments, as the model wrote them">
        <Code text={readableJson(given)} label="Arguments" />
      </Part>
      <Part title="Result, as the model saw it">
        {result === undefined ? (
          <p className="text-sm text-muted">Not yet.</p>
        ) : (
          <Code text={readableJson(result)} label="Result" />
        )}
      </Part>
    </>
  );
}

interface AnswerPart {
  readonly type: string;
  readonly text?: string;
  readonly name?: string;
}

function ModelDetail({
  step,
  call,
  execution,
}: {
  readonly step: Step | undefined;
  readonly call: TurnCall | undefined;
  readonly execution: Execution;
}) {
  const detail: Detail = step?.detail ?? {};
  const parts = Array.isArray(detail['parts']) ? (detail['parts'] as readonly AnswerPart[]) : [];
  const { stop, intent } = detail;
  return (
    <>
      {step?.kind === 'model' && execution.session_id !== null && (
        <Part title="What the model saw">
          <SeenMessages step={step} execution={execution} />
        </Part>
      )}
      {call !== undefined && (
        <Part title="What the model saw last (the beginning, as the ledger keeps it)">
          <Code text={call.input_preview === '' ? '(not kept)' : call.input_preview} label="Input" />
        </Part>
      )}
      <Part title="What the model said">
        {parts.length === 0 && (
          <p className="text-sm text-muted">
            {typeof intent === 'string' ? `Intent: ${intent}` : 'Nothing yet.'}
          </p>
        )}
        <div className="flex flex-col gap-2">
          {parts.map((part, index) =>
            part.type === 'text' && part.text !== undefined ? (
              <div key={index} className="rounded-md border border-line p-2 text-sm">
                <Markdown text={part.text} />
              </div>
            ) : (
              <JsonView key={index} value={part} label={`Part ${index + 1}: ${part.name ?? part.type}`} />
            ),
          )}
        </div>
      </Part>
      {typeof stop === 'string' && <Facts facts={[['Stopped', stop.replaceAll('_', ' ')]]} />}
      {call !== undefined && call.first_model !== call.model && (
        <p className="text-sm text-warn">
          {call.first_model} was asked first; {call.model} answered.
        </p>
      )}
      {call !== undefined && call.attempts.length > 0 && (
        <Part title="Attempts">
          <AttemptsTable attempts={call.attempts} />
        </Part>
      )}
    </>
  );
}
