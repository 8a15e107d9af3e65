import { useMutation, useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { api, take } from '../../api/client';
import { useKey } from '../../api/queries';
import { Button } from '../../ui/button';
import { type ApiRequest, CopyAs } from '../../ui/copy-as';
import { FormProblem, SelectField, TextArea } from '../../ui/field';
import { Markdown } from '../../ui/markdown';
import { count, dollars } from '../../ui/numbers';
import { duration } from '../../ui/time';

import type { Execution } from './turn-data';
import type { TurnInput } from './turn-input';

export function ReplayForm({
  execution,
  input,
}: {
  readonly execution: Execution;
  readonly input: TurnInput;
}) {
  const models = useQuery({
    queryKey: useKey('models'),
    queryFn: ({ signal }) => take(api.GET('/api/v3/llm/models', { signal })),
    staleTime: 60_000,
  });
  const [model, setModel] = useState(execution.model ?? 'auto');
  const [system, setSystem] = useState(input.system);
  const [message, setMessage] = useState(input.message);
  const messages = [
    ...(system.trim() === '' ? [] : [{ role: 'system' as const, content: system }]),
    ...input.history,
  ];
  // The answer of the response cache would compare nothing.
  const body = { model, messages, query: message, cache: false };
  const request: ApiRequest = { method: 'POST', path: '/api/v3/llm/public/call', body };
  const asking = useMutation({ mutationFn: () => take(api.POST('/api/v3/llm/call', { body })) });
  const chat = models.data?.data.filter(({ kind, available }) => kind === 'chat' && available) ?? [];
  const options = ['auto', ...chat.map(({ id }) => id)];
  return (
    <form
      className="flex flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        asking.mutate();
      }}
    >
      <div className="grid gap-4 md:grid-cols-2">
        <div className="flex flex-col gap-3">
          <SelectField
            label="Model"
            value={model}
            onChange={({ target }) => setModel(target.value)}
            options={(options.includes(model) ? options : [model, ...options]).map((id) => [id, id])}
          />
          <TextArea
            label="Message"
            value={message}
            maxLength={100_000}
            onChange={({ target }) => setMessage(target.value)}
          />
        </div>
        <TextArea
          label="System prompt"
          className="min-h-36"
          value={system}
          maxLength={100_000}
          onChange={({ target }) => setSystem(target.value)}
        />
      </div>
      <p className="text-xs text-muted">
        A direct call with{' '}
        {input.history.length === 0 ? 'no earlier message' : `the ${input.history.length} messages before it`}
        . Tools are not called, and nothing is sent to the person. It is paid like any call.
      </p>
      <FormProblem error={asking.error} />
      <div className="flex gap-2">
        <Button type="submit" kind="primary" busy={asking.isPending} disabled={message.trim() === ''}>
          Ask
        </Button>
        <CopyAs request={{ ...request, mcp: { tool: 'call_llm', arguments: body } }} />
      </div>
      {asking.data !== undefined && (
        <div className="grid gap-4 md:grid-cols-2">
          <Side title={`This turn · ${execution.model ?? 'no model'}`} text={execution.response ?? ''}>
            {execution.latency_ms === null ? '' : `${duration(execution.latency_ms)} · `}
            {execution.usage === null ? '' : `${count(execution.usage.total_tokens)} tokens · `}
            {dollars(execution.cost)}
          </Side>
          <Side title={`Compared · ${asking.data.model}`} text={asking.data.response}>
            {duration(asking.data.latency_ms)} · {count(asking.data.usage.total_tokens)} tokens ·{' '}
            {dollars(asking.data.cost)}
          </Side>
        </div>
      )}
    </form>
  );
}

function Side({
  title,
  text,
  children,
}: {
  readonly title: string;
  readonly text: string;
  readonly children: ReactNode;
}) {
  return (
    <section aria-label={title} className="min-w-0 rounded-md border border-line">
      <div className="border-b border-line bg-sunken px-3 py-2">
        <h3 className="text-sm font-medium">{title}</h3>
        <p className="text-xs text-muted">{children}</p>
      </div>
      <div
        className="max-h-96 overflow-y-auto p-3 text-sm"
        tabIndex={0}
        role="region"
        aria-label={`Answer: ${title}`}
      >
        {text === '' ? <span className="text-muted">No answer.</span> : <Markdown text={text} />}
      </div>
    </section>
  );
}
