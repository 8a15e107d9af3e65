import type { FieldSpecs } from '../../ui/form/fields';
import { Form } from '../../ui/form/form';
import { periods } from '../../ui/form/options';
import { Card } from '../../ui/page';
import type { KeptTenant } from './kept-tenant';
import { useChange } from './use-change';

const fields = {
  name: { kind: 'text', label: 'Name', required: true },
  usd: {
    kind: 'number',
    label: 'Budget in US dollars',
    api: 'budget.usd',
    min: 0,
    half: true,
    hint: 'Calls are refused once it is spent. Empty: no budget.',
  },
  period: { kind: 'choice', label: 'Budget of each', api: 'budget.period', options: periods, half: true },
} as const satisfies FieldSpecs;

export function GeneralForm({ tenant: { name, budget } }: { readonly tenant: KeptTenant }) {
  const change = useChange();
  return (
    <Card title="Name and budget">
      <Form
        fields={fields}
        initial={{ name, usd: budget?.usd, period: budget?.period }}
        verb="Save name and budget"
        done="The settings were saved"
        submit={({ name: next, usd, period }) =>
          change({ name: next, budget: usd === undefined ? null : { usd, period } })
        }
      />
    </Card>
  );
}
