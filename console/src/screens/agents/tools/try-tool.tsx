import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { api, take } from '../../../api/client';
import { Badge } from '../../../ui/badge';
import { Button } from '../../../ui/button';
import { Dialog } from '../../../ui/dialog';
import { useDialogHold } from '../../../ui/dialog-hold';
import { FormProblem, SelectField } from '../../../ui/field';
import { JsonField } from '../../../ui/json-field';
import { Code } from '../../../ui/json-view';
import { duration } from '../../../ui/time';
import { readable } from '../../../ui/unreadable-json';
import type { Tool } from '../types';
import { sampleOf } from './sample';

/** Calls a saved tool once and shows what the model would see. */
export function TryTool({
  agentId,
  tool,
  onClose,
}: {
  readonly agentId: string;
  readonly tool: Tool | undefined;
  readonly onClose: () => void;
}) {
  return (
    <Dialog
      open={tool !== undefined}
      onClose={onClose}
      title={`Try ${tool?.name ?? 'a tool'}`}
      description="The call is real: what it changes is changed."
      wide
    >
      {tool !== undefined && <Trial agentId={agentId} tool={tool} />}
    </Dialog>
  );
}

function Trial({ agentId, tool }: { readonly agentId: string; readonly tool: Tool }) {
  const ofServer = tool.type === 'mcp' ? (tool.tools ?? []) : [];
  const [name, setName] = useState(ofServer[0]?.name);
  const schemaOf = (chosen: string | undefined) =>
    tool.type === 'mcp' ? ofServer.find((one) => one.name === chosen)?.input_schema : tool.parameters;
  const [args, setArgs] = useState<unknown>(() => sampleOf(schemaOf(name)));
  const [context, setContext] = useState<unknown>({});
  const trial = useMutation({
    mutationFn: async () =>
      take(
        api.POST('/api/agents/{id}/schemas/{schemaId}/test', {
          params: { path: { id: agentId, schemaId: tool.id } },
          body: readable({
            arguments: args as Record<string, unknown>,
            context: context as Record<string, unknown>,
            ...(name !== undefined && { tool: name }),
          }),
        }),
      ),
  });
  useDialogHold(trial.isPending);
  if (tool.type === 'mcp' && ofServer.length === 0) {
    return (
      <p className="text-sm text-muted">First read the tools of the server, with the button beside it.</p>
    );
  }
  const result = trial.data?.data;
  return (
    <div className="flex flex-col gap-4">
      {ofServer.length > 0 && (
        <SelectField
          label="Tool"
          options={ofServer.map((one) => [one.name, one.name])}
          value={name}
          onChange={({ target }) => {
            setName(target.value);
            setArgs(sampleOf(schemaOf(target.value)));
          }}
        />
      )}
      <JsonField
        label="Arguments"
        hint="What a model would send."
        kind="object"
        value={args}
        onChange={setArgs}
      />
      <JsonField
        label="Context"
        hint="What a caller would supply."
        kind="object"
        value={context}
        onChange={setContext}
      />
      <FormProblem error={trial.error} />
      <div className="flex justify-end">
        <Button kind="primary" busy={trial.isPending} onClick={() => trial.mutate()}>
          Call the tool
        </Button>
      </div>
      {result !== undefined && (
        <section aria-label="Result" className="flex flex-col gap-2">
          <p className="flex flex-wrap items-center gap-2 text-sm">
            <Badge tone={result.is_error ? 'bad' : 'good'}>{result.is_error ? 'failed' : 'succeeded'}</Badge>
            {result.status !== null && <span>status {result.status}</span>}
            <span className="text-muted">{duration(result.latency_ms)}</span>
            {result.truncated && <Badge tone="warn">cut</Badge>}
          </p>
          {result.missing_context.length > 0 && (
            <p className="text-sm text-warn">The context lacks {result.missing_context.join(', ')}.</p>
          )}
          <Code text={result.result} label="what the model would see" />
        </section>
      )}
    </div>
  );
}
