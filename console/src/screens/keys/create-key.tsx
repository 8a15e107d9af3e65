import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { api, take, tenantHeader } from '../../api/client';
import { queries, useKey } from '../../api/queries';
import { useTenant } from '../../session/use-session';
import { Button } from '../../ui/button';
import { Dialog } from '../../ui/dialog';
import { FormProblem, problemOf, SelectField, TextField } from '../../ui/field';
import { listIn, numberIn, textIn } from '../../ui/form-data';
import { NewKey } from './new-key';

const prefixes = ['svc_live_', 'svc_test_', 'svc_dev_'] as const;
const roles = ['admin', 'editor', 'member'] as const;
const fields = [
  'name',
  'rate_limit_per_minute',
  'expires_in_days',
  'budget.usd',
  'allowed_models',
  'allowed_ips',
];

function keyOf(form: FormData) {
  const usd = numberIn(form, 'usd');
  const description = textIn(form, 'description');
  const period: 'day' | 'month' = textIn(form, 'period') === 'day' ? 'day' : 'month';
  return {
    name: textIn(form, 'name'),
    ...(description !== '' && { description }),
    prefix: prefixes.find((one) => one === textIn(form, 'prefix')) ?? 'svc_live_',
    role: roles.find((one) => one === textIn(form, 'role')) ?? 'member',
    rate_limit_per_minute: numberIn(form, 'rate') ?? null,
    expires_in_days: numberIn(form, 'days') ?? null,
    budget: usd === undefined ? null : { usd, period },
    allowed_models: listIn(form, 'models') ?? null,
    allowed_ips: listIn(form, 'addresses') ?? null,
  };
}

/** Makes a key. The key itself is in the answer alone: the dialog shows it until it is closed. */
export function CreateKey({ onClose }: { readonly onClose: () => void }) {
  const { role: own } = useTenant();
  const listKey = useKey('keys');
  const creation = useMutation({
    mutationFn: (form: FormData) =>
      take(api.POST('/api/keys', { params: { header: tenantHeader() }, body: keyOf(form) })),
    onSuccess: () => queries.invalidateQueries({ queryKey: listKey }),
  });
  const [limited, setLimited] = useState(false);
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    creation.mutate(new FormData(event.currentTarget));
  };
  if (creation.data !== undefined) return <NewKey created={creation.data.data} onClose={onClose} />;
  const { error } = creation;
  return (
    <Dialog open onClose={onClose} title="Create a key">
      <form className="flex flex-col gap-3" onSubmit={submit}>
        <TextField label="Name" name="name" required maxLength={100} problem={problemOf(error, 'name')} />
        <TextField label="Description" name="description" maxLength={500} />
        <div className="grid grid-cols-2 gap-3">
          <SelectField
            label="Role"
            name="role"
            defaultValue="member"
            options={roles
              .filter((role) => own !== 'editor' || role !== 'admin')
              .map((role) => [role, role] as const)}
          />
          <SelectField label="Prefix" name="prefix" options={prefixes.map((one) => [one, one] as const)} />
        </div>
        <label className="flex items-center gap-2 text-sm">
          <input type="checkbox" checked={limited} onChange={() => setLimited(!limited)} />
          Limit what it may use
        </label>
        {limited && <Limits error={error} />}
        <FormProblem error={error} fields={limited ? fields : ['name']} />
        <Button kind="primary" type="submit" busy={creation.isPending}>
          Create
        </Button>
      </form>
    </Dialog>
  );
}

function Limits({ error }: { readonly error: unknown }) {
  return (
    <>
      <div className="grid grid-cols-2 items-start gap-3">
        <TextField
          label="Requests per minute"
          name="rate"
          type="number"
          min={1}
          hint="Empty: what the plan gives."
          problem={problemOf(error, 'rate_limit_per_minute')}
        />
        <TextField
          label="Expires after days"
          name="days"
          type="number"
          min={1}
          hint="Empty: never."
          problem={problemOf(error, 'expires_in_days')}
        />
        <TextField
          label="Budget in US dollars"
          name="usd"
          type="number"
          min={0}
          step="any"
          problem={problemOf(error, 'budget.usd')}
        />
        <SelectField
          label="Budget of each"
          name="period"
          options={[
            ['month', 'month'],
            ['day', 'day'],
          ]}
        />
      </div>
      <TextField
        label="Models"
        name="models"
        hint="Separated by commas. Empty: all of the plan."
        problem={problemOf(error, 'allowed_models')}
      />
      <TextField
        label="Addresses"
        name="addresses"
        hint="IP addresses or networks such as 10.0.0.0/8, separated by commas. Empty: all."
        problem={problemOf(error, 'allowed_ips')}
      />
    </>
  );
}
