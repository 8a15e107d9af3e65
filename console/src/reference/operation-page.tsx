import { useMemo, useState } from 'react';
import { Badge } from '../ui/badge';
import { CopyButton } from '../ui/copy-button';
import { Code } from '../ui/json-view';
import { useDocument } from './context';
import type { Answer, Media, Operation, Parameter } from './document';
import { MethodBadge } from './method-badge';
import { Inline, Prose } from './prose';
import { addressOf, type Filled, type Language, languages, sampleOf } from './samples';
import { SchemaView, typeOf } from './schema-view';
import { Section } from './section';
import { TryIt } from './try-it';

/** One operation: what it takes, answers and refuses, as samples and as a form. */
export function OperationPage({ operation }: { readonly operation: Operation }) {
  const [filled, setFilled] = useState<Filled>(() => begun(operation));
  return (
    <article className="flex flex-col gap-6">
      <header className="flex flex-col gap-2">
        <h1 className="wrap-anywhere">{operation.summary}</h1>
        <div className="flex flex-wrap items-center gap-2">
          <MethodBadge method={operation.method} />
          <code className="font-mono text-sm wrap-anywhere">{operation.path}</code>
          <CopyButton text={operation.path} label="Copy the path" />
        </div>
        <div className="flex flex-col gap-2 text-muted">
          <Prose text={operation.description} />
        </div>
        <Access operation={operation} />
      </header>
      <div className="grid gap-6 xl:grid-cols-2">
        <div className="flex min-w-0 flex-col gap-6">
          <Parameters operation={operation} />
          {operation.requestBody !== undefined && (
            <Section title="Body">
              <Contents content={operation.requestBody.content} label="the body" />
            </Section>
          )}
          <Section title="Answers">
            {operation.answers.map(([status, answer]) => (
              <AnswerView key={status} status={status} answer={answer} />
            ))}
          </Section>
        </div>
        <div className="flex min-w-0 flex-col gap-6">
          <Samples operation={operation} filled={filled} />
          <Section title="Try it">
            <TryIt operation={operation} filled={filled} change={setFilled} />
          </Section>
        </div>
      </div>
    </article>
  );
}

/** The form as it begins: the example of the body, and no parameters. */
function begun({ requestBody }: Operation): Filled {
  const [contentType, media] = Object.entries(requestBody?.content ?? {})[0] ?? [];
  const example = media?.example;
  const text = typeof example === 'string' ? example : JSON.stringify(example ?? {}, null, 2);
  return { path: {}, query: {}, header: {}, contentType, body: contentType === undefined ? undefined : text };
}

const schemes: Readonly<Record<string, string>> = {
  apiKey: 'an API key in X-Api-Key',
  bearerKey: 'an API key as bearer token',
  accessToken: 'an access token of a signed-in user',
  operatorToken: 'the operator token',
};

function Access({ operation }: { readonly operation: Operation }) {
  const names = operation.security.map((scheme) => Object.keys(scheme)[0]);
  const accepted = names.map((name) => (name === undefined ? 'no credential' : (schemes[name] ?? name)));
  return <p className="text-sm text-muted">Takes {accepted.join(', or ')}.</p>;
}

function Parameters({ operation: { parameters } }: { readonly operation: Operation }) {
  if (parameters.length === 0) return null;
  return (
    <Section title="Parameters">
      <ul className="divide-y divide-line rounded-md border border-line bg-surface">
        {parameters.map((each) => (
          <li key={`${each.in} ${each.name}`} className="flex flex-col gap-1 px-3 py-2">
            <ParameterLine parameter={each} />
          </li>
        ))}
      </ul>
    </Section>
  );
}

function ParameterLine({ parameter }: { readonly parameter: Parameter }) {
  const document = useDocument();
  return (
    <>
      <div className="flex flex-wrap items-baseline gap-2">
        <code className="font-mono text-sm font-semibold">{parameter.name}</code>
        <span className="font-mono text-xs text-muted wrap-anywhere">
          {parameter.in}, {typeOf(document, parameter.schema)}
        </span>
        {parameter.required && <Badge tone="warn">required</Badge>}
      </div>
      {parameter.description !== undefined && (
        <p className="text-sm text-muted">
          <Inline text={parameter.description} />
        </p>
      )}
    </>
  );
}

function Contents({
  content,
  label,
}: {
  readonly content: Readonly<Record<string, Media>>;
  readonly label: string;
}) {
  return Object.entries(content).map(([type, media]) => {
    const isStream = type === 'text/event-stream';
    const example = media['x-stream-example'] ?? media.example;
    return (
      <div key={type} className="flex flex-col gap-2">
        <p className="font-mono text-xs text-muted">{type}</p>
        {isStream && <p className="text-sm text-muted">Each event has one of these forms as its data:</p>}
        {media.schema !== undefined && (
          <SchemaView schema={media.schema} label={`Fields of ${label}, ${type}`} />
        )}
        {example !== undefined && (
          <Code
            text={typeof example === 'string' ? example : JSON.stringify(example, null, 2)}
            label={`an example of ${label}, ${type}`}
          />
        )}
      </div>
    );
  });
}

function AnswerView({ status, answer }: { readonly status: string; readonly answer: Answer }) {
  const document = useDocument();
  const [open, setOpen] = useState(status.startsWith('2') || status.startsWith('1'));
  const isRefusal = Number(status) >= 400;
  return (
    <details
      open={open}
      onToggle={({ currentTarget }) => setOpen(currentTarget.open)}
      className="rounded-md border border-line"
    >
      <summary className="flex flex-wrap items-center gap-2 px-3 py-2 text-sm">
        <Badge tone={isRefusal ? 'bad' : 'good'}>{status}</Badge>
        <span className="min-w-0 wrap-anywhere text-muted">
          {isRefusal ? codesOf(answer) : answer.description}
        </span>
      </summary>
      {open && (
        <div className="flex flex-col gap-3 border-t border-line px-3 py-3">
          {isRefusal && (
            <div className="flex flex-col gap-1.5 text-sm">
              <Prose text={answer.description} />
            </div>
          )}
          <Contents content={answer.content ?? {}} label={`the answer ${status}`} />
          {answer.headers !== undefined && (
            <details className="text-sm">
              <summary className="w-fit text-accent">Headers of {status}</summary>
              <dl className="mt-1.5 flex flex-col gap-1.5">
                {Object.keys(answer.headers).map((name) => (
                  <div key={name}>
                    <dt className="font-mono text-xs">{name}</dt>
                    <dd className="text-muted">
                      <Inline text={document.header(name)} />
                    </dd>
                  </div>
                ))}
              </dl>
            </details>
          )}
        </div>
      )}
    </details>
  );
}

function codesOf({ description }: Answer): string {
  return [...description.matchAll(/^`([^`]+)`:/gm)].map(([, code]) => code).join(', ');
}

function Samples({ operation, filled }: { readonly operation: Operation; readonly filled: Filled }) {
  const [language, setLanguage] = useState<Language>('curl');
  const text = useMemo(
    () => sampleOf(language, operation, filled, location.origin),
    [language, operation, filled],
  );
  return (
    <Section title="Request">
      <div role="group" aria-label="Language of the sample" className="flex gap-1">
        {languages.map((each) => (
          <button
            key={each}
            type="button"
            aria-pressed={each === language}
            onClick={() => setLanguage(each)}
            className={
              each === language
                ? 'rounded-md bg-accent-soft px-2.5 py-1 text-sm font-medium text-accent'
                : 'rounded-md px-2.5 py-1 text-sm text-muted hover:bg-hover'
            }
          >
            {each}
          </button>
        ))}
      </div>
      <Code text={text} label={`the request in ${language}`} />
      <p className="text-xs text-muted">
        For <span className="font-mono wrap-anywhere">{addressOf(operation, filled)}</span>, with the values
        of the form below.
      </p>
    </Section>
  );
}
