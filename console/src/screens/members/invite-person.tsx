import { useMutation } from '@tanstack/react-query';
import type { FormEvent } from 'react';
import { api, take } from '../../api/client';
import { queries, useKey } from '../../api/queries';
import { useTenant } from '../../session/use-session';
import { Button } from '../../ui/button';
import { Dialog } from '../../ui/dialog';
import { FormProblem, problemOf, SelectField, TextField } from '../../ui/field';
import { textIn } from '../../ui/form-data';
import { succeeded } from '../../ui/toasts';
import { roles, rolesGivenBy } from './people';

export function InvitePerson({ onClose }: { readonly onClose: () => void }) {
  const { id, role: own } = useTenant();
  const listKey = useKey('invites');
  const invitation = useMutation({
    mutationFn: (form: FormData) => {
      const role = roles.find((one) => one === textIn(form, 'role')) ?? 'member';
      const body = { email: textIn(form, 'email'), role };
      return take(api.POST('/api/tenants/{id}/invites', { params: { path: { id } }, body }));
    },
    onSuccess: async ({ data }) => {
      await queries.invalidateQueries({ queryKey: listKey });
      succeeded('The invitation was sent', data.email);
      onClose();
    },
  });
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    invitation.mutate(new FormData(event.currentTarget));
  };
  return (
    <Dialog open onClose={onClose} title="Invite a person" description="They get a link by mail.">
      <form className="flex flex-col gap-3" onSubmit={submit}>
        <TextField
          label="E-mail"
          name="email"
          type="email"
          required
          problem={problemOf(invitation.error, 'email')}
        />
        <SelectField
          label="Role"
          name="role"
          defaultValue="member"
          options={rolesGivenBy(own).map((role) => [role, role] as const)}
        />
        <FormProblem error={invitation.error} fields={['email']} />
        <Button kind="primary" type="submit" busy={invitation.isPending}>
          Send the invitation
        </Button>
      </form>
    </Dialog>
  );
}
