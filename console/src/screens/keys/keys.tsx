import { createLazyRoute, useNavigate } from '@tanstack/react-router';
import { Plus } from 'lucide-react';
import { useState } from 'react';
import { api, take, tenantHeader } from '../../api/client';
import { queries, useKey, usePages } from '../../api/queries';
import { useAllowed } from '../../session/use-session';
import { StatusBadge } from '../../ui/badge';
import { Button } from '../../ui/button';
import { Confirm } from '../../ui/confirm';
import { CopyAs } from '../../ui/copy-as';
import { type Column, PagedTable } from '../../ui/data-table';
import { count, dollars } from '../../ui/numbers';
import { Page } from '../../ui/page';
import { Empty, Forbidden } from '../../ui/states';
import { Time } from '../../ui/time';
import { succeeded } from '../../ui/toasts';
import { CreateKey } from './create-key';
import { KeyDetails } from './key-details';
import { type ApiKey, shownKey } from './shown-key';

export const Route = createLazyRoute('/frame/keys')({ component: Keys });

/** API keys, newest first. */
function Keys() {
  const { create, key } = Route.useSearch();
  const navigate = useNavigate({ from: '/keys' });
  const [mayRead, mayCreate, mayWrite] = [
    useAllowed('keys:read'),
    useAllowed('keys:create'),
    useAllowed('keys:write'),
  ];
  const [revoked, setRevoked] = useState<ApiKey>();
  const listKey = useKey('keys');
  const pages = usePages(
    ['keys'],
    async (cursor, signal) => {
      const query = { limit: 50, cursor };
      const answer = await take(api.GET('/api/keys', { params: { query, header: tenantHeader() }, signal }));
      return { rows: answer.data, next: answer.next_cursor ?? undefined };
    },
    { enabled: mayRead },
  );
  if (!mayRead) {
    return (
      <Page title="Keys">
        <Forbidden what="API keys" />
      </Page>
    );
  }
  const open = (next: { readonly create?: true; readonly key?: string }) =>
    void navigate({ search: next, replace: true });
  const creation = mayCreate && (
    <Button kind="primary" icon={<Plus size={14} aria-hidden />} onClick={() => open({ create: true })}>
      Create a key
    </Button>
  );
  return (
    <Page
      title="Keys"
      description="Programs call the API with these. Each has a role and limits of its own."
      actions={
        <>
          <CopyAs
            request={{ method: 'GET', path: '/api/keys', mcp: { tool: 'list_api_keys', arguments: {} } }}
          />
          {creation}
        </>
      }
    >
      <PagedTable
        pages={pages}
        caption="API keys"
        columns={columnsOf({
          onOpen: (id) => open({ key: id }),
          onRevoke: mayWrite ? setRevoked : undefined,
        })}
        keyOf={({ id }) => id}
        empty={
          <Empty title="No keys yet">
            <p>A key lets a program of yours call the API.</p>
          </Empty>
        }
      />
      {create === true && mayCreate && <CreateKey onClose={() => open({})} />}
      {key !== undefined && <KeyDetails id={key} onClose={() => open({})} />}
      <Confirm
        open={revoked !== undefined}
        onClose={() => setRevoked(undefined)}
        title={`Revoke ${revoked?.name ?? ''}?`}
        verb="Revoke"
        action={async () => {
          if (revoked === undefined) return;
          const path = { keyId: revoked.id };
          await take(api.DELETE('/api/keys/{keyId}', { params: { path, header: tenantHeader() } }));
          await queries.invalidateQueries({ queryKey: listKey });
          succeeded('The key was revoked', revoked.name);
        }}
      >
        Programs that call with it are refused from now on. This cannot be undone.
      </Confirm>
    </Page>
  );
}

function columnsOf({
  onOpen,
  onRevoke,
}: {
  readonly onOpen: (id: string) => void;
  readonly onRevoke: ((key: ApiKey) => void) | undefined;
}): readonly Column<ApiKey>[] {
  const columns: readonly Column<ApiKey>[] = [
    {
      title: 'Name',
      cell: ({ id, name }) => (
        <button
          type="button"
          className="text-left text-accent wrap-anywhere hover:underline"
          onClick={() => onOpen(id)}
        >
          {name}
        </button>
      ),
    },
    {
      title: 'Key',
      cell: (key) => <code className="font-mono text-xs whitespace-nowrap">{shownKey(key)}</code>,
    },
    { title: 'Status', cell: ({ status }) => <StatusBadge status={status} /> },
    { title: 'Role', wideOnly: true, cell: ({ role }) => role },
    {
      title: 'Per minute',
      numeric: true,
      wideOnly: true,
      cell: ({ rate_limit_per_minute: rate }) => count(rate),
    },
    {
      title: 'Budget',
      numeric: true,
      wideOnly: true,
      cell: ({ budget }) => (budget === undefined ? '—' : `${dollars(budget.usd)} a ${budget.period}`),
    },
    { title: 'Created by', wideOnly: true, cell: ({ created_by: { name } }) => name },
    { title: 'Last used', wideOnly: true, cell: ({ last_used_at: at }) => <Time at={at} /> },
  ];
  if (onRevoke === undefined) return columns;
  const cell = (key: ApiKey) =>
    key.status === 'active' && (
      <Button kind="quiet" aria-label={`Revoke ${key.name}`} onClick={() => onRevoke(key)}>
        Revoke
      </Button>
    );
  return [...columns, { title: 'Actions', numeric: true, cell }];
}
