import type { FormEvent } from 'react';
import { Button } from '../../ui/button';
import { FormProblem, problemOf, TextField } from '../../ui/field';
import { numberIn } from '../../ui/form-data';
import { Card } from '../../ui/page';
import type { KeptTenant } from './settings';
import { useChange } from './use-change';

const kept = [
  ['messages_days', 'Messages'],
  ['executions_days', 'Executions'],
  ['previews_days', 'Previews of calls'],
  ['usage_days', 'Usage'],
  ['audit_days', 'Audit'],
] as const;

/** An empty field restores the default. */
const changeOf = (form: FormData) => ({
  retention: Object.fromEntries(kept.map(([name]) => [name, numberIn(form, name) ?? null])),
});

export function RetentionForm({ tenant: { retention } }: { readonly tenant: KeptTenant }) {
  const change = useChange(changeOf);
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    change.mutate(new FormData(event.currentTarget));
  };
  return (
    <Card title="For how many days data is kept">
      <form className="flex flex-col gap-3" onSubmit={submit}>
        <div className="grid items-start gap-3 sm:grid-cols-2">
          {kept.map(([name, label]) => (
            <TextField
              key={`${name} ${retention[name]}`}
              label={label}
              name={name}
              type="number"
              min={1}
              max={3650}
              defaultValue={retention[name]}
              problem={problemOf(change.error, `retention.${name}`)}
            />
          ))}
        </div>
        <p className="text-xs text-muted">
          1 to 3650. What is older is deleted for good. An empty field restores the default.
        </p>
        <FormProblem error={change.error} fields={kept.map(([name]) => `retention.${name}`)} />
        <Button kind="primary" type="submit" className="self-start" busy={change.isPending}>
          Save the days
        </Button>
      </form>
    </Card>
  );
}
