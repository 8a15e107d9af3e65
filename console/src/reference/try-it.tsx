import { useRef, useState } from 'react';
import { troupe } from '../api/client';
import { Badge } from '../ui/badge';
import { Button } from '../ui/button';
import { TextArea, TextField } from '../ui/field';
import { Code } from '../ui/json-view';
import { useValue } from '../session/value';
import { CredentialBox, pasted, pastedHeaders } from './credential';
import type { Operation, Parameter } from './document';
import { addressOf, type Filled } from './samples';

interface Result {
  readonly status: string;
  readonly isGood: boolean;
  readonly ms: number;
  readonly headers: string;
  readonly text: string;
  readonly isRunning: boolean;
}

/** Longer answers are cut: the page shows them as one text. */
const charactersMax = 200_000;

/** A form for one request, and what it was answered. */
export function TryIt({
  operation,
  filled,
  change,
}: {
  readonly operation: Operation;
  readonly filled: Filled;
  readonly change: (next: Filled) => void;
}) {
  const [result, setResult] = useState<Result | undefined>();
  const [problem, setProblem] = useState<string | undefined>();
  const running = useRef<AbortController | undefined>(undefined);
  const [isRunning, setRunning] = useState(false);
  const key = useValue(pasted);
  const place = { path: filled.path, query: filled.query, header: filled.header };
  const missing = operation.parameters.filter(
    (each) => each.required && each.name !== 'x-tenant-id' && (place[each.in][each.name] ?? '') === '',
  );

  const send = async (): Promise<void> => {
    // A second press must not send a second request.
    if (running.current !== undefined) return;
    const abort = new AbortController();
    running.current = abort;
    setRunning(true);
    setProblem(undefined);
    setResult(undefined);
    try {
      await request(operation, filled, key, abort.signal, setResult);
    } catch (error) {
      if (!abort.signal.aborted) setProblem(error instanceof Error ? error.message : 'The request failed.');
    } finally {
      setResult((last) => (last === undefined ? last : { ...last, isRunning: false }));
      running.current = undefined;
      setRunning(false);
    }
  };

  return (
    <div className="flex flex-col gap-4">
      <CredentialBox />
      <form
        className="flex flex-col gap-3"
        aria-label="Request"
        onSubmit={(event) => {
          event.preventDefault();
          void send();
        }}
      >
        {operation.parameters.map((each) => (
          <ParameterField key={`${each.in} ${each.name}`} parameter={each} filled={filled} change={change} />
        ))}
        {filled.body !== undefined && (
          <TextArea
            label={`Body (${filled.contentType ?? 'text'})`}
            className="min-h-40 font-mono text-xs"
            spellCheck={false}
            value={filled.body}
            problem={jsonProblem(filled)}
            onChange={({ target }) => change({ ...filled, body: target.value })}
          />
        )}
        <div className="flex flex-wrap items-center gap-2">
          <Button
            type="submit"
            kind={operation.method === 'DELETE' ? 'danger' : 'primary'}
            busy={isRunning}
            disabled={missing.length > 0}
          >
            Send {operation.method}
          </Button>
          {isRunning && <Button onClick={() => running.current?.abort()}>Stop</Button>}
          {missing.length > 0 && (
            <span className="text-sm text-muted">Needs {missing.map(({ name }) => name).join(', ')}.</span>
          )}
        </div>
      </form>
      {problem !== undefined && (
        <p role="alert" className="rounded-md bg-bad-soft px-3 py-2 text-sm text-bad">
          {problem}
        </p>
      )}
      {result !== undefined && <Shown result={result} />}
    </div>
  );
}

function ParameterField({
  parameter: { name, in: kind, required, description },
  filled,
  change,
}: {
  readonly parameter: Parameter;
  readonly filled: Filled;
  readonly change: (next: Filled) => void;
}) {
  return (
    <TextField
      label={`${name} (${kind}${required ? ', required' : ''})`}
      hint={description}
      value={filled[kind][name] ?? ''}
      onChange={({ target }) => change({ ...filled, [kind]: { ...filled[kind], [name]: target.value } })}
    />
  );
}

function jsonProblem({ body, contentType }: Filled): string | undefined {
  if (contentType !== 'application/json' || body === undefined || body.trim() === '') return undefined;
  try {
    JSON.parse(body);
    return undefined;
  } catch (error) {
    return error instanceof Error ? `is not JSON: ${error.message}` : 'is not JSON';
  }
}

function Shown({ result }: { readonly result: Result }) {
  return (
    <section aria-label="Answer" className="flex flex-col gap-2">
      <p className="flex flex-wrap items-center gap-2 text-sm" role="status">
        <Badge tone={result.isGood ? 'good' : 'bad'}>{result.status}</Badge>
        {result.isRunning ? 'answering …' : `${Math.round(result.ms)} ms`}
      </p>
      <Code text={result.text} label="the body of the answer" />
      <details className="text-sm">
        <summary className="w-fit text-accent">Headers of the answer</summary>
        <Code text={result.headers} label="the headers of the answer" />
      </details>
    </section>
  );
}

async function request(
  operation: Operation,
  filled: Filled,
  key: string,
  signal: AbortSignal,
  show: (result: Result) => void,
): Promise<void> {
  const startedAt = performance.now();
  const headers = new Headers(Object.entries(filled.header).filter(([, value]) => value !== ''));
  for (const [name, value] of Object.entries(pastedHeaders(key))) headers.set(name, value);
  if (filled.body !== undefined && filled.contentType !== undefined)
    headers.set('Content-Type', filled.contentType);
  const asked = new Request(addressOf(operation, filled), {
    method: operation.method,
    headers,
    signal,
    ...(filled.body !== undefined && { body: filled.body }),
  });
  const response = await (key === '' ? troupe.fetch(asked) : fetch(asked));
  const head = {
    status: `${response.status} ${response.statusText}`.trim(),
    isGood: response.ok,
    headers: [...response.headers].map(([name, value]) => `${name}: ${value}`).join('\n'),
  };
  const isJson = /\bjson\b/.test(response.headers.get('content-type') ?? '');
  let text = '';
  const update = (isRunning: boolean): void => {
    const body = isJson && !isRunning ? indented(text) : text;
    show({ ...head, ms: performance.now() - startedAt, text: body.slice(0, charactersMax), isRunning });
  };
  update(true);
  try {
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const piece = await reader?.read();
      if (piece === undefined || piece.done || text.length > charactersMax) break;
      text += piece.value;
      update(true);
    }
    await reader?.cancel();
  } finally {
    update(false);
  }
}

function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
