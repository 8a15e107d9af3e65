import { useMutation } from '@tanstack/react-query';
import { take } from '../../../api/client';
import { Button } from '../../../ui/button';
import { FormProblem, problemOf, SelectField, TextField } from '../../../ui/field';
import { numberIn, textIn } from '../../../ui/form-data';
import { succeeded } from '../../../ui/toasts';
import { operatorApi, useRefresh } from '../operator-session';
import { planNames } from '../routes';
import type { OperatorTenant } from './tenant-data';

const figures = {
  requests_per_minute: 'Requests a minute',
  requests_per_day: 'Requests a day',
  monthly_tokens: 'Tokens a month',
  key_rpm_max: 'Requests a minute of a key',
} as const;
type Figure = keyof typeof figures;
const names = Object.keys(figures) as readonly Figure[];

/** The plan, and figures that override it. */
export function PlanForm({ tenant: { id, plan, settings } }: { readonly tenant: OperatorTenant }) {
  const refresh = useRefresh('tenants');
  const change = useMutation({
    mutationFn: (form: FormData) => {
      const given = Object.fromEntries(names.map((name) => [name, numberIn(form, name) ?? null]));
      return take(
        operatorApi.PATCH('/api/tenants/{id}/plan', {
          params: { path: { id } },
          body: {
            plan: planNames.find((one) => one === textIn(form, 'plan')) ?? plan,
            settings: given as Record<Figure, number | null>,
          },
        }),
      );
    },
    onSuccess: async ({ data }) => {
      await refresh();
      succeeded('The plan was changed', `The tenant is on plan ${data.plan}.`);
    },
  });
  const { error } = change;
  return (
    <form
      className="flex flex-col gap-3 border-t border-line pt-4"
      aria-label="Plan"
      onSubmit={(event) => {
        event.preventDefault();
        change.mutate(new FormData(event.currentTarget));
      }}
    >
      <SelectField
        label="Plan"
        name="plan"
        defaultValue={plan}
        options={planNames.map((one) => [one, one])}
      />
      <div className="grid items-start gap-3 sm:grid-cols-2">
        {names.map((name) => (
          <TextField
            key={name}
            label={figures[name]}
            name={name}
            type="number"
            min={name === 'monthly_tokens' ? 0 : 1}
            step={1}
            defaultValue={settings[name] ?? ''}
            placeholder="as the plan"
            problem={problemOf(error, `settings.${name}`)}
          />
        ))}
      </div>
      <FormProblem error={error} fields={names.map((name) => `settings.${name}`)} />
      <Button type="submit" className="self-start" busy={change.isPending}>
        Change the plan
      </Button>
    </form>
  );
}
