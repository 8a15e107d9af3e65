import { api, take } from '../../api/client';
import { queries, useKey } from '../../api/queries';
import { useTenant } from '../../session/use-session';
import { Dialog } from '../../ui/dialog';
import { Form } from '../../ui/form/form';
import { succeeded } from '../../ui/toasts';
import { type Role, rolesGivenBy } from './people';

const fieldsFor = (own: Role) =>
  ({
    email: { kind: 'text', type: 'email', label: 'E-mail', required: true },
    role: {
      kind: 'choice',
      label: 'Role',
      options: rolesGivenBy(own).map((role) => [role, role] as const),
    },
  }) as const;

export function InvitePerson({ onClose }: { readonly onClose: () => void }) {
  const { id, role: own } = useTenant();
  const listKey = useKey('invites');
  return (
    <Dialog open onClose={onClose} title="Invite a person" description="They get a link by mail.">
      <Form
        fields={fieldsFor(own)}
        initial={{ role: 'member' }}
        verb="Send the invitation"
        submit={async (body) => {
          const { data } = await take(
            api.POST('/api/tenants/{id}/invites', { params: { path: { id } }, body }),
          );
          await queries.invalidateQueries({ queryKey: listKey });
          succeeded('The invitation was sent', data.email);
          onClose();
        }}
      />
    </Dialog>
  );
}
