import { useState } from 'react';
import { api, take } from '../../api/client';
import { queries, useKey } from '../../api/queries';
import { useTenant } from '../../session/use-session';
import { Button } from '../../ui/button';
import { Confirm } from '../../ui/confirm';
import { type Column, DataTable } from '../../ui/data-table';
import { Card } from '../../ui/page';
import { Loaded } from '../../ui/states';
import { Time } from '../../ui/time';
import { succeeded } from '../../ui/toasts';
import { type Invite, useInvites } from './people';

/** Invitations that nobody has accepted yet. */
export function Invites({ mayWrite }: { readonly mayWrite: boolean }) {
  const query = useInvites();
  const listKey = useKey('invites');
  const { id } = useTenant();
  const [cancelled, setCancelled] = useState<Invite>();
  return (
    <Card title="Open invitations">
      <Loaded query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <p className="text-sm text-muted">No invitation waits for an answer.</p>
          ) : (
            <DataTable
              caption="Open invitations"
              rows={data}
              keyOf={(invite) => invite.id}
              columns={columnsOf(mayWrite ? setCancelled : undefined)}
            />
          )
        }
      </Loaded>
      <Confirm
        open={cancelled !== undefined}
        onClose={() => setCancelled(undefined)}
        title={`Cancel the invitation of ${cancelled?.email ?? ''}?`}
        verb="Cancel the invitation"
        action={async () => {
          if (cancelled === undefined) return;
          const path = { id, inviteId: cancelled.id };
          await take(api.DELETE('/api/tenants/{id}/invites/{inviteId}', { params: { path } }));
          await queries.invalidateQueries({ queryKey: listKey });
          succeeded('The invitation was cancelled', cancelled.email);
        }}
      >
        The link in the mail stops working.
      </Confirm>
    </Card>
  );
}

function columnsOf(onCancel: ((invite: Invite) => void) | undefined): readonly Column<Invite>[] {
  const columns: readonly Column<Invite>[] = [
    { title: 'E-mail', cell: ({ email }) => <span className="wrap-anywhere">{email}</span> },
    { title: 'Role', cell: ({ role }) => role },
    { title: 'Ends', wideOnly: true, cell: ({ expires_at: at }) => <Time at={at} /> },
  ];
  if (onCancel === undefined) return columns;
  const cell = (invite: Invite) => (
    <Button
      kind="quiet"
      aria-label={`Cancel the invitation of ${invite.email}`}
      onClick={() => onCancel(invite)}
    >
      Cancel
    </Button>
  );
  return [...columns, { title: 'Actions', numeric: true, cell }];
}
