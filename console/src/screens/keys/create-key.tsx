import { useState } from 'react';
import { api, take, tenantHeader } from '../../api/client';
import { queries, useKey } from '../../api/queries';
import { useTenant } from '../../session/use-session';
import { Dialog } from '../../ui/dialog';
import { type Raws, type ValuesOf } from '../../ui/form/fields';
import { Form } from '../../ui/form/form';
import { periods } from '../../ui/form/options';
import { NewKey } from './new-key';

const shown = ({ limited }: Raws): boolean => limited === true;

const fieldsFor = (own: string) =>
  ({
    name: { kind: 'text', label: 'Name', required: true, maxLength: 100 },
    description: { kind: 'text', label: 'Description', maxLength: 500 },
    role: {
      kind: 'choice',
      label: 'Role',
      half: true,
      // Nobody gives more than their own role.
      options: (['member', 'editor', ...(own === 'editor' ? [] : (['admin'] as const))] as const).map(
        (role) => [role, role] as const,
      ),
    },
    prefix: {
      kind: 'choice',
      label: 'Prefix',
      half: true,
      options: (['svc_live_', 'svc_test_', 'svc_dev_'] as const).map((one) => [one, one] as const),
    },
    limited: { kind: 'check', label: 'Limit what it may use' },
    rate: {
      kind: 'number',
      label: 'Requests per minute',
      api: 'rate_limit_per_minute',
      hint: 'Empty: what the plan gives.',
      min: 1,
      whole: true,
      half: true,
      shown,
    },
    days: {
      kind: 'number',
      label: 'Expires after days',
      api: 'expires_in_days',
      hint: 'Empty: never.',
      min: 1,
      whole: true,
      half: true,
      shown,
    },
    usd: { kind: 'number', label: 'Budget in US dollars', api: 'budget.usd', min: 0, half: true, shown },
    period: { kind: 'choice', label: 'Budget of each', options: periods, half: true, shown },
    models: {
      kind: 'list',
      label: 'Models',
      api: 'allowed_models',
      hint: 'Separated by commas. Empty: all of the plan.',
      shown,
    },
    addresses: {
      kind: 'list',
      label: 'Addresses',
      api: 'allowed_ips',
      hint: 'IP addresses or networks such as 10.0.0.0/8, separated by commas. Empty: all.',
      shown,
    },
  }) as const;

function bodyOf(values: ValuesOf<ReturnType<typeof fieldsFor>>) {
  const { name, description, role, prefix, rate, days, usd, period, models, addresses } = values;
  return {
    name,
    role,
    prefix,
    ...(description !== '' && { description }),
    rate_limit_per_minute: rate ?? null,
    expires_in_days: days ?? null,
    budget: usd === undefined ? null : { usd, period: period ?? 'month' },
    allowed_models: models ?? null,
    allowed_ips: addresses ?? null,
  };
}

/** Makes a key. The key itself is in the answer alone: the dialog shows it until it is closed. */
export function CreateKey({ onClose }: { readonly onClose: () => void }) {
  const { role: own } = useTenant();
  const listKey = useKey('keys');
  const [created, setCreated] = useState<{ readonly name: string; readonly api_key: string }>();
  if (created !== undefined) return <NewKey created={created} onClose={onClose} />;
  return (
    <Dialog open onClose={onClose} title="Create a key">
      <Form
        fields={fieldsFor(own)}
        verb="Create"
        submit={async (values) => {
          const params = { header: tenantHeader() };
          setCreated((await take(api.POST('/api/keys', { params, body: bodyOf(values) }))).data);
          await queries.invalidateQueries({ queryKey: listKey });
        }}
      />
    </Dialog>
  );
}
