import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { api, take } from '../../api/client';
import { queries, useKey } from '../../api/queries';
import { Button } from '../../ui/button';
import { Dialog } from '../../ui/dialog';
import { FormProblem, problemOf, SelectField, TextField } from '../../ui/field';
import { listIn, textIn } from '../../ui/form-data';
import { succeeded } from '../../ui/toasts';
import { isKind, kinds, type Secret } from './secret';

const fields = ['name', 'value', 'provider', 'allowed_hosts'];

export function CreateSecret({ onClose }: { readonly onClose: () => void }) {
  const listKey = useKey('secrets');
  const [kind, setKind] = useState<Secret['kind']>('generic');
  const creation = useMutation({
    mutationFn: (form: FormData) =>
      take(
        api.POST('/api/secrets', {
          body: {
            name: textIn(form, 'name'),
            value: textIn(form, 'value'),
            kind,
            ...(kind === 'llm_key' && { provider: textIn(form, 'provider') }),
            ...(kind !== 'llm_key' && { allowed_hosts: listIn(form, 'hosts') ?? null }),
          },
        }),
      ),
    onSuccess: async ({ data }) => {
      await queries.invalidateQueries({ queryKey: listKey });
      succeeded('The secret was stored', data.name);
      onClose();
    },
  });
  const { error } = creation;
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    creation.mutate(new FormData(event.currentTarget));
  };
  return (
    <Dialog open onClose={onClose} title="Add a secret">
      <form className="flex flex-col gap-3" onSubmit={submit}>
        <TextField
          label="Name"
          name="name"
          required
          hint="Agents, tools and triggers name it so."
          problem={problemOf(error, 'name')}
        />
        <SelectField
          label="Kind"
          value={kind}
          onChange={({ target }) => isKind(target.value) && setKind(target.value)}
          options={Object.entries(kinds)}
        />
        {kind === 'llm_key' ? (
          <TextField
            label="Vendor"
            name="provider"
            required
            hint="Such as openai or anthropic."
            problem={problemOf(error, 'provider')}
          />
        ) : (
          <TextField
            label="Hosts"
            name="hosts"
            hint="Where it may be sent, separated by commas. Empty: any host that an admin's tool names."
            problem={problemOf(error, 'allowed_hosts')}
          />
        )}
        <TextField
          label="Value"
          name="value"
          required
          type="password"
          autoComplete="off"
          hint={kind === 'basic' ? 'As user:password.' : 'It is not shown again.'}
          problem={problemOf(error, 'value')}
        />
        <FormProblem error={error} fields={fields} />
        <Button kind="primary" type="submit" busy={creation.isPending}>
          Store
        </Button>
      </form>
    </Dialog>
  );
}
