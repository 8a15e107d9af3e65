import { take } from '../../../api/client';
import { Dialog } from '../../../ui/dialog';
import type { FieldSpecs } from '../../../ui/form/fields';
import { Form } from '../../../ui/form/form';
import { succeeded } from '../../../ui/toasts';
import { operatorApi, useRefresh } from '../operator-session';
import { planNames } from '../routes';

const fields = {
  name: { kind: 'text', label: 'Name', required: true, autoComplete: 'off' },
  plan: { kind: 'choice', label: 'Plan', options: planNames.map((plan) => [plan, plan] as const) },
  owner: {
    kind: 'text',
    type: 'email',
    label: 'Owner',
    autoComplete: 'off',
    hint: 'The address of an account. Empty: nobody, until you make a key of an owner with troupe keys.',
  },
} as const satisfies FieldSpecs;

export function CreateTenant({ onClose }: { readonly onClose: () => void }) {
  const refresh = useRefresh('tenants');
  return (
    <Dialog open onClose={onClose} title="Create a tenant">
      <Form
        fields={fields}
        verb="Create"
        submit={async ({ name, plan, owner }) => {
          const body = { name, plan, ...(owner.trim() !== '' && { owner: owner.trim() }) };
          const { data } = await take(operatorApi.POST('/api/v1/operator/tenants', { body }));
          await refresh();
          succeeded('The tenant was created', data.name);
          onClose();
        }}
      />
    </Dialog>
  );
}
