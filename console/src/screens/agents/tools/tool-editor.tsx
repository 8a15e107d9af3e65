import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useEffect, useRef } from 'react';
import { api, take } from '../../../api/client';
import { ApiError } from '../../../api/errors';
import { queries, useKey } from '../../../api/queries';
import { Button } from '../../../ui/button';
import { CheckField } from '../../../ui/check-field';
import { Dialog } from '../../../ui/dialog';
import { useDialogHold } from '../../../ui/dialog-hold';
import { FormProblem, problemOf } from '../../../ui/field';
import { useDraft } from '../../../ui/form/draft';
import type { FieldSpecs } from '../../../ui/form/fields';
import { FormFields } from '../../../ui/form/form-fields';
import { JsonField } from '../../../ui/json-field';
import { succeeded } from '../../../ui/toasts';
import { readable, UnreadableJson } from '../../../ui/unreadable-json';
import type { Agent, Tool, ToolType } from '../types';
import { TypeFields } from './type-forms';
import { draftOfTool, parametersFrom, type ToolDraft, toolOf, toolPatchOf } from './tool-draft';

export function ToolEditor({
  agent,
  tool,
  open,
  onClose,
}: {
  readonly agent: Agent;
  readonly tool: Tool | undefined;
  readonly open: boolean;
  readonly onClose: () => void;
}) {
  return (
    <Dialog
      open={open}
      onClose={onClose}
      title={tool === undefined ? 'Add a tool' : `Edit ${tool.name}`}
      wide
    >
      <Form key={tool?.id ?? 'new'} agent={agent} tool={tool} onClose={onClose} />
    </Dialog>
  );
}

const types: readonly (readonly [ToolType, string])[] = [
  ['api', 'HTTP: one request to an interface'],
  ['mcp', 'MCP: the tools of a server'],
  ['agent', 'Sub-agent: another agent of the tenant'],
];

const headOf = (tool: Tool | undefined): FieldSpecs => ({
  // The type of a saved tool stays.
  ...(tool === undefined && { type: { kind: 'choice', label: 'Type', options: types, half: true } as const }),
  name: {
    kind: 'text',
    label: 'Name',
    hint: "The model calls it by this name: letters, digits, '_' and '-'.",
    required: true,
    half: true,
  },
  description: {
    kind: 'area',
    label: 'Description',
    hint: 'The model decides by this text when to call the tool.',
  },
});

function Form({ agent, tool, onClose }: Omit<Parameters<typeof ToolEditor>[0], 'open'>) {
  const { written, change: rewrite } = useDraft(draftOfTool(tool));
  const { draft } = written;
  const change = (part: Partial<ToolDraft>): void => rewrite((present) => ({ ...present, ...part }));
  const agentKey = useKey('agents', agent.id);
  const form = useRef<HTMLFormElement>(null);
  const save = useMutation({
    mutationFn: async () => {
      const path = { id: agent.id };
      const body = readable(toolOf(draft));
      if (tool === undefined) {
        return take(api.POST('/api/agents/{id}/schemas', { params: { path }, body }));
      }
      return take(
        api.PATCH('/api/agents/{id}/schemas/{schemaId}', {
          params: { path: { ...path, schemaId: tool.id } },
          body: toolPatchOf(written, tool.revision),
        }),
      );
    },
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: agentKey });
      succeeded(tool === undefined ? `${draft.name} was added` : `${draft.name} is saved`);
      onClose();
    },
  });
  useDialogHold(save.isPending);
  const { error } = save;
  useEffect(() => {
    if (error !== null) form.current?.querySelector<HTMLElement>('[aria-invalid=true]')?.focus();
  }, [error]);
  const at = (field: string): string | undefined => problemOf(error, field);
  const part = (field: string): string | undefined => at(`editor_schema.${draft.type}.${field}`);
  const held = { raws: { ...draft }, onChange: (name: string, raw: unknown) => change({ [name]: raw }) };
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    // The form of the agent is around this one in React's tree.
    event.stopPropagation();
    save.mutate();
  };
  return (
    <form ref={form} onSubmit={submit} className="flex flex-col gap-4">
      <FormFields specs={headOf(tool)} {...held} problem={at} />
      <TypeFields {...held} draft={draft} problem={part} own={agent.id} tools={tool?.tools ?? null} />
      {draft.type !== 'mcp' && (
        <div className="flex flex-col items-start gap-2 [&>*:first-child]:w-full">
          <JsonField
            label="Arguments"
            hint="JSON Schema of what the model fills in."
            problem={at('parameters')}
            kind="object"
            value={draft.parameters}
            onChange={(parameters) => change({ parameters })}
          />
          {draft.type === 'api' && (
            <Button
              disabled={draft.parameters instanceof UnreadableJson}
              onClick={() => change({ parameters: parametersFrom(draft) })}
            >
              Take the arguments from the placeholders
            </Button>
          )}
        </div>
      )}
      <CheckField
        label="A person approves each call"
        hint="The turn waits until somebody in the inbox approves or denies it."
        checked={draft.approval}
        onChange={({ target }) => change({ approval: target.checked })}
      />
      <FormProblem error={withPlace(error)} />
      <div className="flex justify-end gap-2">
        <Button disabled={save.isPending} onClick={onClose}>
          Cancel
        </Button>
        <Button kind="primary" type="submit" busy={save.isPending}>
          {tool === undefined ? 'Add tool' : 'Save tool'}
        </Button>
      </div>
    </form>
  );
}

/** The form is long: what is wrong is also said beside its button, with the place. */
function withPlace(error: unknown): unknown {
  if (!(error instanceof ApiError) || error.field === undefined) return error;
  return new Error(`${error.field.name}: ${error.field.issue}`);
}
