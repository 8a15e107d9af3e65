import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { api, take } from '../../../api/client';
import { queries, useKey } from '../../../api/queries';
import { useAllowed } from '../../../session/use-session';
import { Button } from '../../../ui/button';
import { FormProblem, problemOf, TextField } from '../../../ui/field';
import { JsonView } from '../../../ui/json-view';
import { Card } from '../../../ui/page';
import { succeeded } from '../../../ui/toasts';
import { configPatch } from '../config';
import { ConfigForm } from '../config-form';
import type { Config, Trigger } from '../types';
import { withPlace } from '../with-place';

export function Settings({ trigger }: { readonly trigger: Trigger }) {
  const mayUpdate = useAllowed('triggers:update');
  if (!mayUpdate) return <JsonView value={trigger.trigger_config} label="trigger_config" />;
  // What another person saved meanwhile is shown from the beginning.
  return <Form key={trigger.updated_at} trigger={trigger} />;
}

function Form({ trigger }: { readonly trigger: Trigger }) {
  const saved = trigger.trigger_config as Config;
  const [name, setName] = useState(trigger.name);
  const [config, setConfig] = useState<Config>(saved);
  const key = useKey('triggers');
  const patch = configPatch(saved, config);
  const isChanged = name !== trigger.name || Object.keys(patch).length > 0;
  const { mutate, isPending, error } = useMutation({
    mutationFn: () =>
      take(
        api.PATCH('/api/triggers/{id}', {
          params: { path: { id: trigger.id } },
          body: { name, ...(Object.keys(patch).length > 0 && { trigger_config: patch }) },
        }),
      ),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: key });
      succeeded('The settings are saved');
    },
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    mutate();
  };
  return (
    <form onSubmit={submit} className="flex max-w-3xl flex-col gap-4">
      <Card title="Trigger">
        <TextField
          label="Name"
          problem={problemOf(error, 'name')}
          value={name}
          onChange={({ target }) => setName(target.value)}
          required
        />
      </Card>
      <ConfigForm type={trigger.trigger_type} config={config} onChange={setConfig} error={error} />
      <FormProblem error={withPlace(error)} />
      <div className="flex justify-end">
        <Button kind="primary" type="submit" busy={isPending} disabled={!isChanged}>
          Save
        </Button>
      </div>
    </form>
  );
}
