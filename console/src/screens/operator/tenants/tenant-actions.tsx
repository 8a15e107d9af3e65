import { useState } from 'react';
import { take } from '../../../api/client';
import { performDeletion } from '../../../api/queries';
import { Button } from '../../../ui/button';
import { Confirm } from '../../../ui/confirm';
import { TextField } from '../../../ui/field';
import { succeeded } from '../../../ui/toasts';
import { operatorApi, operatorKey, useRefresh } from '../operator-session';
import type { OperatorTenant } from './tenant-data';

type Asked = 'suspend' | 'resume' | 'rotate' | 'delete';

/** What stops a tenant or lets it go on, each after a question. */
export function TenantActions({
  tenant,
  onDeleted,
}: {
  readonly tenant: OperatorTenant;
  readonly onDeleted: () => void;
}) {
  const [asked, setAsked] = useState<Asked>();
  const dialog = { tenant, onClose: () => setAsked(undefined) };
  return (
    <div className="flex flex-wrap items-center gap-2 border-t border-line pt-4">
      {tenant.status === 'suspended' ? (
        <Button onClick={() => setAsked('resume')}>Resume</Button>
      ) : (
        <Button onClick={() => setAsked('suspend')}>Suspend</Button>
      )}
      <Button onClick={() => setAsked('rotate')}>New data key</Button>
      <Button kind="dangerous" className="ml-auto" onClick={() => setAsked('delete')}>
        Delete
      </Button>
      {asked === 'suspend' && <Suspend {...dialog} />}
      {asked === 'resume' && <Resume {...dialog} />}
      {asked === 'rotate' && <Rotate {...dialog} />}
      {asked === 'delete' && <Delete {...dialog} onDeleted={onDeleted} />}
    </div>
  );
}

interface Question {
  readonly tenant: OperatorTenant;
  readonly onClose: () => void;
}

function Suspend({ tenant: { id, name }, onClose }: Question) {
  const refresh = useRefresh('tenants');
  const [reason, setReason] = useState('');
  return (
    <Confirm
      open
      onClose={onClose}
      title={`Suspend ${name}?`}
      verb="Suspend"
      action={async () => {
        const params = { path: { id } };
        await take(operatorApi.POST('/api/v1/operator/tenants/{id}/suspend', { params, body: { reason } }));
        await refresh();
        succeeded('The tenant is suspended', name);
      }}
    >
      <div className="flex flex-col gap-3">
        <p>
          Within a second all of its credentials and triggers are refused, and its running turns are
          cancelled.
        </p>
        <TextField
          label="Reason"
          maxLength={500}
          required
          value={reason}
          onChange={({ target }) => setReason(target.value)}
          hint="Its people are refused with tenant_suspended; the reason is for operators and the audit."
        />
      </div>
    </Confirm>
  );
}

function Resume({ tenant: { id, name }, onClose }: Question) {
  const refresh = useRefresh('tenants');
  return (
    <Confirm
      open
      onClose={onClose}
      title={`Let ${name} work again?`}
      verb="Resume"
      danger={false}
      action={async () => {
        await take(operatorApi.POST('/api/v1/operator/tenants/{id}/resume', { params: { path: { id } } }));
        await refresh();
        succeeded('The tenant works again', name);
      }}
    >
      Its credentials and triggers are accepted again. Turns that were cancelled stay cancelled.
    </Confirm>
  );
}

function Rotate({ tenant: { id, name }, onClose }: Question) {
  return (
    <Confirm
      open
      onClose={onClose}
      title={`Make a new data key for ${name}?`}
      verb="Make a new key"
      danger={false}
      action={async () => {
        const params = { path: { id } };
        const { message } = await take(
          operatorApi.POST('/api/v1/operator/tenants/{id}/rotate-data-key', { params }),
        );
        succeeded('The data key was replaced', message);
      }}
    >
      Every secret of the tenant is sealed again. Nothing changes for its people.
    </Confirm>
  );
}

function Delete({ tenant: { id, name }, onClose, onDeleted }: Question & { readonly onDeleted: () => void }) {
  const [confirm, setConfirm] = useState('');
  return (
    <Confirm
      open
      onClose={onClose}
      title={`Delete ${name} and everything in it?`}
      verb="Delete everything"
      action={async () => {
        const deleted = [operatorKey('tenants', 'one', id)];
        await performDeletion({ deleted, lists: [operatorKey('tenants')] }, async () => {
          const params = { path: { id } };
          await take(operatorApi.DELETE('/api/v1/operator/tenants/{id}', { params, body: { confirm } }));
          onDeleted();
        });
        succeeded('The tenant is being deleted', name);
      }}
    >
      <div className="flex flex-col gap-3">
        <p>This cannot be undone. Its turns are cancelled, its secrets destroyed, and its rows removed.</p>
        <TextField
          label="Name of the tenant, to confirm"
          autoComplete="off"
          value={confirm}
          onChange={({ target }) => setConfirm(target.value)}
        />
      </div>
    </Confirm>
  );
}
