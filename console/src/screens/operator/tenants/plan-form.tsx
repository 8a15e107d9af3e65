import { take } from '../../../api/client';
import type { FieldSpecs } from '../../../ui/form/fields';
import { Form } from '../../../ui/form/form';
import { operatorApi, useRefresh } from '../operator-session';
import { planNames } from '../routes';
import type { OperatorTenant } from './tenant-data';

const figure = { kind: 'number', min: 1, whole: true, half: true, placeholder: 'as the plan' } as const;

const fields = {
  plan: { kind: 'choice', label: 'Plan', options: planNames.map((plan) => [plan, plan] as const) },
  requests_per_minute: { ...figure, label: 'Requests a minute', api: 'settings.requests_per_minute' },
  requests_per_day: { ...figure, label: 'Requests a day', api: 'settings.requests_per_day' },
  monthly_tokens: { ...figure, min: 0, label: 'Tokens a month', api: 'settings.monthly_tokens' },
  key_rpm_max: { ...figure, label: 'Requests a minute of a key', api: 'settings.key_rpm_max' },
} as const satisfies FieldSpecs;

/** The plan, and figures that override it. */
export function PlanForm({ tenant: { id, plan, settings } }: { readonly tenant: OperatorTenant }) {
  const refresh = useRefresh('tenants');
  return (
    <section aria-label="Plan" className="border-t border-line pt-4">
      <Form
        fields={fields}
        initial={{ plan, ...settings }}
        verb="Change the plan"
        done={(chosen) => `The tenant is on plan ${String(chosen)}.`}
        submit={async ({ plan: chosen, ...figures }) => {
          // An empty field takes an override away.
          const given = {
            requests_per_minute: figures.requests_per_minute ?? null,
            requests_per_day: figures.requests_per_day ?? null,
            monthly_tokens: figures.monthly_tokens ?? null,
            key_rpm_max: figures.key_rpm_max ?? null,
          };
          const body = { plan: chosen, settings: given };
          const path = { id };
          const { data } = await take(
            operatorApi.PATCH('/api/tenants/{id}/plan', { params: { path }, body }),
          );
          await refresh();
          return data.plan;
        }}
      />
    </section>
  );
}
