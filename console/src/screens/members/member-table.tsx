import { useState } from 'react';
import { api, take } from '../../api/client';
import { queries, useKey } from '../../api/queries';
import { useSession, useTenant } from '../../session/use-session';
import { Badge } from '../../ui/badge';
import { Button } from '../../ui/button';
import { Choice } from '../../ui/choice';
import { Confirm } from '../../ui/confirm';
import { type Column, DataTable } from '../../ui/data-table';
import { Loaded } from '../../ui/states';
import { Time } from '../../ui/time';
import { failed, succeeded } from '../../ui/toasts';
import { type Member, type Role, roles, rolesGivenBy, useMembers } from './people';

export function MemberTable({ mayWrite }: { readonly mayWrite: boolean }) {
  const query = useMembers();
  const listKey = useKey('members');
  const { user } = useSession();
  const { id, role: own } = useTenant();
  const [removed, setRemoved] = useState<Member>();
  const [withKeys, setWithKeys] = useState(false);
  const readAgain = () => queries.invalidateQueries({ queryKey: listKey });
  const pathOf = ({ user_id: userId }: Member) => ({ id, userId });
  // Nobody changes oneself here, nor a person with a higher role.
  const mayChange = (member: Member): boolean =>
    mayWrite && member.user_id !== user.id && rolesGivenBy(own).includes(member.role);
  const change = (member: Member, chosen: string): void => {
    const role = roles.find((one) => one === chosen);
    take(
      api.PATCH('/api/tenants/{id}/members/{userId}', { params: { path: pathOf(member) }, body: { role } }),
    )
      .then(
        () => succeeded('The role was changed', `${member.name} is ${chosen}.`),
        (error: unknown) => failed('The role was not changed', error),
      )
      .finally(() => void readAgain());
  };
  return (
    <Loaded query={query}>
      {({ data }) => (
        <>
          <DataTable
            caption="Members"
            rows={data}
            keyOf={(member) => member.id}
            columns={columnsOf({
              self: user.id,
              given: rolesGivenBy(own),
              mayChange,
              change,
              remove: (member) => {
                setWithKeys(false);
                setRemoved(member);
              },
            })}
          />
          <Confirm
            open={removed !== undefined}
            onClose={() => setRemoved(undefined)}
            title={`Remove ${removed?.email ?? ''}?`}
            verb="Remove"
            action={async () => {
              if (removed === undefined) return;
              const params = { path: pathOf(removed), query: { revoke_keys: withKeys } };
              await take(api.DELETE('/api/tenants/{id}/members/{userId}', { params }));
              await readAgain();
              succeeded('The member was removed', removed.email);
            }}
          >
            <p>The person loses access to this tenant at once. What they made stays.</p>
            <label className="mt-3 flex items-center gap-2 text-text">
              <input
                type="checkbox"
                className="size-4 accent-accent"
                checked={withKeys}
                onChange={({ target }) => setWithKeys(target.checked)}
              />
              Revoke the API keys that they made too
            </label>
          </Confirm>
        </>
      )}
    </Loaded>
  );
}

function columnsOf({
  self,
  given,
  mayChange,
  change,
  remove,
}: {
  readonly self: string;
  readonly given: readonly Role[];
  readonly mayChange: (member: Member) => boolean;
  readonly change: (member: Member, role: string) => void;
  readonly remove: (member: Member) => void;
}): readonly Column<Member>[] {
  return [
    {
      title: 'Name',
      cell: ({ name, user_id: id }) => (
        <span className="wrap-anywhere">
          {name} {id === self && <Badge>you</Badge>}
        </span>
      ),
    },
    { title: 'E-mail', cell: ({ email }) => <span className="wrap-anywhere">{email}</span> },
    {
      title: 'Role',
      cell: (member) =>
        mayChange(member) ? (
          <Choice
            label={`Role of ${member.email}`}
            value={member.role}
            options={given.map((role) => [role, role] as const)}
            onChange={(role) => change(member, role)}
          />
        ) : (
          member.role
        ),
    },
    { title: 'Since', wideOnly: true, cell: ({ created_at: at }) => <Time at={at} /> },
    {
      title: 'Actions',
      numeric: true,
      cell: (member) =>
        mayChange(member) && (
          <Button kind="quiet" aria-label={`Remove ${member.email}`} onClick={() => remove(member)}>
            Remove
          </Button>
        ),
    },
  ];
}
