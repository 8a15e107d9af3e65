import type { FormEvent } from 'react';
import { Button } from '../../ui/button';
import { FormProblem, problemOf, SelectField, TextField } from '../../ui/field';
import { numberIn, textIn } from '../../ui/form-data';
import { Card } from '../../ui/page';
import type { KeptTenant } from './settings';
import { useChange } from './use-change';

function changeOf(form: FormData) {
  const usd = numberIn(form, 'usd');
  const period: 'day' | 'month' = textIn(form, 'period') === 'day' ? 'day' : 'month';
  return { name: textIn(form, 'name'), budget: usd === undefined ? null : { usd, period } };
}

export function GeneralForm({ tenant: { name, budget } }: { readonly tenant: KeptTenant }) {
  const change = useChange(changeOf);
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    change.mutate(new FormData(event.currentTarget));
  };
  return (
    <Card title="Name and budget">
      <form className="flex flex-col gap-3" onSubmit={submit}>
        <TextField
          label="Name"
          name="name"
          required
          defaultValue={name}
          problem={problemOf(change.error, 'name')}
        />
        <div className="grid items-start gap-3 sm:grid-cols-2">
          <TextField
            label="Budget in US dollars"
            name="usd"
            type="number"
            min={0}
            step="any"
            defaultValue={budget?.usd}
            hint="Calls are refused once it is spent. Empty: no budget."
            problem={problemOf(change.error, 'budget.usd')}
          />
          <SelectField
            label="Budget of each"
            name="period"
            defaultValue={budget?.period ?? 'month'}
            options={[
              ['month', 'month'],
              ['day', 'day'],
            ]}
          />
        </div>
        <FormProblem error={change.error} fields={['name', 'budget.usd']} />
        <Button kind="primary" type="submit" className="self-start" busy={change.isPending}>
          Save name and budget
        </Button>
      </form>
    </Card>
  );
}
