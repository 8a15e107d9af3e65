import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { api, take } from '../../../api/client';
import { queries, useKey } from '../../../api/queries';
import { useAllowed } from '../../../session/use-session';
import { Button } from '../../../ui/button';
import { FormProblem, problemOf, TextField } from '../../../ui/field';
import { useDraft, type Written } from '../../../ui/form/draft';
import { mergePatch } from '../../../ui/form/merge-patch';
import { isSame } from '../../../ui/form/rebased';
import { Code, JsonView } from '../../../ui/json-view';
import { Card } from '../../../ui/page';
import { succeeded } from '../../../ui/toasts';
import { readable } from '../../../ui/unreadable-json';
import { ConfigForm, type WrittenConfig } from '../config-form';
import type { Trigger } from '../types';
import { withPlace } from '../with-place';

export function Settings({ trigger }: { readonly trigger: Trigger }) {
  const mayUpdate = useAllowed('triggers:update');
  if (!mayUpdate) return <JsonView value={trigger.trigger_config} label="trigger_config" />;
  return <Form trigger={trigger} />;
}

interface Draft extends WrittenConfig {
  readonly name: string;
}

function draftOf({ name, trigger_config: config }: Pick<Trigger, 'name' | 'trigger_config'>): Draft {
  return { name, config, unreadable: undefined };
}

function patchOf({ base, draft: { name, config, unreadable } }: Written<Draft>) {
  readable({ trigger_config: unreadable });
  const patch = mergePatch(base.config, config);
  return {
    ...(name !== base.name && { name }),
    ...(Object.keys(patch).length > 0 && { trigger_config: patch }),
  };
}

function Form({ trigger }: { readonly trigger: Trigger }) {
  const { written, change, settle } = useDraft(draftOf(trigger), { name: `trigger ${trigger.id}` });
  const { base, draft } = written;
  const [secret, setSecret] = useState<string>();
  const key = useKey('triggers');
  const { mutate, isPending, error } = useMutation({
    mutationFn: async (sent: Written<Draft>) =>
      take(
        api.PATCH('/api/triggers/{id}', {
          params: { path: { id: trigger.id } },
          body: patchOf(sent),
        }),
      ),
    onSuccess: async ({ data }, sent) => {
      settle(sent, draftOf(data));
      if (data.webhook_secret !== undefined) setSecret(data.webhook_secret);
      await queries.invalidateQueries({ queryKey: key });
      succeeded('The settings are saved');
    },
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    mutate(written);
  };
  return (
    <form onSubmit={submit} className="flex max-w-3xl flex-col gap-4">
      <Card title="Trigger">
        <TextField
          label="Name"
          problem={problemOf(error, 'name')}
          value={draft.name}
          onChange={({ target }) => change((present) => ({ ...present, name: target.value }))}
          required
        />
      </Card>
      <ConfigForm type={trigger.trigger_type} draft={draft} onChange={change} error={error} />
      {secret !== undefined && (
        <Card title="Webhook secret">
          <p className="mb-2 text-sm text-warn">
            It signs the callback, and is shown only now. Keep it where your program runs.
          </p>
          <Code text={secret} label="secret" />
        </Card>
      )}
      <FormProblem error={withPlace(error)} />
      <div className="flex justify-end">
        <Button kind="primary" type="submit" busy={isPending} disabled={isSame(base, draft)}>
          Save
        </Button>
      </div>
    </form>
  );
}
