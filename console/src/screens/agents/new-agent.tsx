import { useMutation } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { api, take } from '../../api/client';
import { queries, useKey } from '../../api/queries';
import { Button } from '../../ui/button';
import { Dialog } from '../../ui/dialog';
import { useDialogHold } from '../../ui/dialog-hold';
import { FormProblem, problemOf, SelectField, TextArea, TextField } from '../../ui/field';
import { ModelField } from '../../ui/model-field';
import { useUnsaved } from '../../ui/unsaved';
import { agentTypes } from './types';

/** The name, the purpose and the model; everything else has a default and is changed in the editor. */
export function NewAgent({ open, onClose }: { readonly open: boolean; readonly onClose: () => void }) {
  return (
    <Dialog
      open={open}
      onClose={onClose}
      title="New agent"
      description="It begins as a draft. Nobody can talk to it before you publish it."
    >
      <Form />
    </Dialog>
  );
}

function Form() {
  const navigate = useNavigate();
  const key = useKey('agents');
  const [name, setName] = useState('');
  const [type, setType] = useState<(typeof agentTypes)[number]>('assistant');
  const [prompt, setPrompt] = useState('');
  const [model, setModel] = useState('auto');
  const { mutate, isPending, error } = useMutation({
    mutationFn: () =>
      take(
        api.POST('/api/agents', {
          body: {
            name,
            type,
            llm_config: { model, ...(prompt === '' ? {} : { system_prompt: prompt }) },
          },
        }),
      ),
    onSuccess: ({ data }) => {
      void queries.invalidateQueries({ queryKey: key });
      void navigate({ to: '/agents/$agentId', params: { agentId: data.id } });
    },
  });
  useDialogHold(isPending);
  useUnsaved((name !== '' || prompt !== '') && !isPending);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    mutate();
  };
  return (
    <form onSubmit={submit} className="flex flex-col gap-4">
      <TextField
        label="Name"
        hint="Letters, digits, '_', '.' and '-'. Unique in the tenant."
        problem={problemOf(error, 'name')}
        value={name}
        onChange={({ target }) => setName(target.value)}
        required
      />
      <SelectField
        label="Type"
        options={agentTypes.map((one) => [one, one.replaceAll('_', ' ')])}
        value={type}
        onChange={({ target }) => setType(target.value as typeof type)}
      />
      <TextArea
        label="Prompt"
        hint="Who the agent is and what it shall do. You can write it later."
        problem={problemOf(error, 'llm_config.system_prompt')}
        value={prompt}
        onChange={({ target }) => setPrompt(target.value)}
      />
      <ModelField value={model} onChange={setModel} problem={problemOf(error, 'llm_config.model')} />
      <FormProblem error={error} fields={['name', 'llm_config.system_prompt', 'llm_config.model']} />
      <div className="flex justify-end">
        <Button kind="primary" type="submit" busy={isPending}>
          Create agent
        </Button>
      </div>
    </form>
  );
}
