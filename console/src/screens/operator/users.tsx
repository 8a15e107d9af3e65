import { createLazyRoute, Link } from '@tanstack/react-router';
import { useState } from 'react';
import type { paths } from '#api/openapi';
import { take } from '../../api/client';
import { usePagesOf } from '../../api/queries';
import { withQuery } from '../../api/with-query';
import { Badge, StatusBadge } from '../../ui/badge';
import { Button } from '../../ui/button';
import { Confirm } from '../../ui/confirm';
import { CopyAs } from '../../ui/copy-as';
import { type Column, PagedTable } from '../../ui/data-table';
import { Filters, FilterText } from '../../ui/filters';
import { Page } from '../../ui/page';
import { Empty } from '../../ui/states';
import { Time } from '../../ui/time';
import { succeeded } from '../../ui/toasts';
import { operatorApi, operatorKey, useRefresh } from './operator-session';

export const Route = createLazyRoute('/operator/users')({ component: Users });

type User =
  paths['/api/v1/operator/users']['get']['responses'][200]['content']['application/json']['data'][number];

/** All people of the installation. */
function Users() {
  const { search } = Route.useSearch();
  const navigate = Route.useNavigate();
  const [asked, setAsked] = useState<User>();
  const pages = usePagesOf(operatorKey('users', search), async (cursor, signal) => {
    const query = { search, limit: 50, cursor };
    const answer = await take(operatorApi.GET('/api/v1/operator/users', { params: { query }, signal }));
    return { rows: answer.data, next: answer.next_cursor ?? undefined };
  });
  return (
    <Page
      title="Users"
      description="The accounts of this installation and the tenants that they belong to."
      actions={
        <CopyAs
          request={{
            method: 'GET',
            path: withQuery('/api/v1/operator/users', { search }),
            operator: true,
          }}
        />
      }
    >
      <Filters>
        <FilterText
          label="Address, name or id"
          value={search}
          onChange={(next) => void navigate({ search: { search: next }, replace: true })}
        />
      </Filters>
      <PagedTable
        pages={pages}
        caption="Users"
        columns={columnsOf(setAsked)}
        keyOf={({ id }) => id}
        empty={
          <Empty title={search === undefined ? 'No users yet' : 'No user matches'}>
            <p>Search by a part of the address or the name.</p>
          </Empty>
        }
      />
      {asked !== undefined && <ChangeStatus user={asked} onClose={() => setAsked(undefined)} />}
    </Page>
  );
}

function columnsOf(onAsk: (user: User) => void): readonly Column<User>[] {
  return [
    {
      title: 'User',
      cell: ({ email, name }) => (
        <span className="flex flex-col">
          <span className="wrap-anywhere">{email}</span>
          <span className="text-xs font-normal wrap-anywhere text-muted">{name}</span>
        </span>
      ),
    },
    {
      title: 'Status',
      cell: ({ status, email_verified: isVerified }) => (
        <span className="flex flex-wrap gap-1">
          <StatusBadge status={status} />
          {!isVerified && <Badge tone="warn">not verified</Badge>}
        </span>
      ),
    },
    {
      title: 'Tenants',
      wideOnly: true,
      cell: ({ tenants }) => (
        <ul>
          {tenants.map(({ id, name, role }) => (
            <li key={id} className="wrap-anywhere">
              <Link to="/operator/tenants" search={{ tenant: id }} className="text-accent underline">
                {name}
              </Link>{' '}
              <span className="text-muted">{role}</span>
            </li>
          ))}
        </ul>
      ),
    },
    { title: 'Created', wideOnly: true, cell: ({ created_at: at }) => <Time at={at} /> },
    {
      title: 'Change',
      cell: (user) => (
        <Button onClick={() => onAsk(user)} aria-label={`${verbOf(user)} ${user.email}`}>
          {verbOf(user)}
        </Button>
      ),
    },
  ];
}

const verbOf = ({ status }: User): 'Disable' | 'Enable' => (status === 'active' ? 'Disable' : 'Enable');

function ChangeStatus({ user, onClose }: { readonly user: User; readonly onClose: () => void }) {
  const refresh = useRefresh('users');
  const { id, email } = user;
  // Answers of the list must not turn the question around while it is open.
  const [verb] = useState(verbOf(user));
  const isEnd = verb === 'Disable';
  return (
    <Confirm
      open
      onClose={onClose}
      title={`${verb} ${email}?`}
      verb={verb}
      danger={isEnd}
      action={async () => {
        const params = { path: { id } };
        await take(
          isEnd
            ? operatorApi.POST('/api/v1/operator/users/{id}/disable', { params })
            : operatorApi.POST('/api/v1/operator/users/{id}/enable', { params }),
        );
        await refresh();
        succeeded(isEnd ? 'The user is disabled' : 'The user can sign in again', email);
      }}
    >
      {isEnd
        ? 'Every sign-in of the user ends on all devices, and none is possible until you enable the user again.'
        : 'The user can sign in again. Sign-ins that were ended stay ended.'}
    </Confirm>
  );
}
