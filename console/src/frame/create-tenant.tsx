import { api, take } from '../api/client';
import { reloadSession, switchTenant } from '../session/session';
import type { FieldSpecs } from '../ui/form/fields';
import { Form } from '../ui/form/form';

const fields = {
  name: { kind: 'text', label: 'Name of the tenant', required: true, maxLength: 200 },
} as const satisfies FieldSpecs;

/** For a person without a tenant, such as one whose last tenant was deleted. */
export function CreateTenant() {
  return (
    <Form
      fields={fields}
      verb="Create a tenant"
      submit={async (body) => {
        const { data } = await take(api.POST('/api/tenants', { body }));
        await reloadSession();
        switchTenant(data.id);
      }}
    />
  );
}
