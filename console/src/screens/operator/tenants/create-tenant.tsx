import { useMutation } from '@tanstack/react-query';
import { take } from '../../../api/client';
import { Button } from '../../../ui/button';
import { Dialog } from '../../../ui/dialog';
import { FormProblem, problemOf, SelectField, TextField } from '../../../ui/field';
import { textIn } from '../../../ui/form-data';
import { succeeded } from '../../../ui/toasts';
import { operatorApi, useRefresh } from '../operator-session';
import { planNames } from '../routes';

export function CreateTenant({ onClose }: { readonly onClose: () => void }) {
  const refresh = useRefresh('tenants');
  const creation = useMutation({
    mutationFn: (form: FormData) => {
      const owner = textIn(form, 'owner').trim();
      const plan = planNames.find((one) => one === textIn(form, 'plan')) ?? 'free';
      return take(
        operatorApi.POST('/api/v1/operator/tenants', {
          body: { name: textIn(form, 'name'), plan, ...(owner !== '' && { owner }) },
        }),
      );
    },
    onSuccess: async ({ data }) => {
      await refresh();
      succeeded('The tenant was created', data.name);
      onClose();
    },
  });
  const { error } = creation;
  return (
    <Dialog open onClose={onClose} title="Create a tenant">
      <form
        className="flex flex-col gap-3"
        onSubmit={(event) => {
          event.preventDefault();
          creation.mutate(new FormData(event.currentTarget));
        }}
      >
        <TextField label="Name" name="name" required autoComplete="off" problem={problemOf(error, 'name')} />
        <SelectField label="Plan" name="plan" options={planNames.map((plan) => [plan, plan])} />
        <TextField
          label="Owner"
          name="owner"
          type="email"
          autoComplete="off"
          hint="The address of an account. Empty: nobody, until you make a key of an owner with troupe keys."
          problem={problemOf(error, 'owner')}
        />
        <FormProblem error={error} fields={['name', 'owner']} />
        <Button kind="primary" type="submit" busy={creation.isPending}>
          Create
        </Button>
      </form>
    </Dialog>
  );
}
