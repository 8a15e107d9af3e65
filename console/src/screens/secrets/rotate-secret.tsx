import { useMutation } from '@tanstack/react-query';
import type { FormEvent } from 'react';
import { api, take } from '../../api/client';
import { queries, useKey } from '../../api/queries';
import { Button } from '../../ui/button';
import { FormProblem, problemOf, SelectField, TextField } from '../../ui/field';
import { numberIn, textIn } from '../../ui/form-data';
import { succeeded } from '../../ui/toasts';

/** A new value. The previous one stays valid for a while, for those that still send it. */
export function RotateSecret({ id }: { readonly id: string }) {
  const listKey = useKey('secrets');
  const rotation = useMutation({
    mutationFn: (form: FormData) =>
      take(
        api.PUT('/api/secrets/{id}/value', {
          params: { path: { id } },
          body: { value: textIn(form, 'value'), grace_seconds: numberIn(form, 'grace') ?? 0 },
        }),
      ),
    onSuccess: async ({ data }) => {
      await queries.invalidateQueries({ queryKey: listKey });
      succeeded('The value was changed', `${data.name} has version ${data.version}.`);
    },
  });
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const form = event.currentTarget;
    rotation.mutate(new FormData(form), { onSuccess: () => form.reset() });
  };
  return (
    <form className="flex flex-col gap-3" onSubmit={submit}>
      <div className="grid items-start gap-3 sm:grid-cols-2">
        <TextField
          label="New value"
          name="value"
          required
          type="password"
          autoComplete="off"
          problem={problemOf(rotation.error, 'value')}
        />
        <SelectField
          label="Previous value stays valid"
          name="grace"
          defaultValue="3600"
          options={[
            ['0', 'not at all'],
            ['3600', 'for an hour'],
            ['86400', 'for a day'],
          ]}
        />
      </div>
      <FormProblem error={rotation.error} fields={['value']} />
      <Button type="submit" className="self-start" busy={rotation.isPending}>
        Change the value
      </Button>
    </form>
  );
}
