import { createLazyRoute, useNavigate } from '@tanstack/react-router';
import { Plus } from 'lucide-react';
import { api, take } from '../../api/client';
import { usePages } from '../../api/queries';
import { useAllowed } from '../../session/use-session';
import { Badge } from '../../ui/badge';
import { Button } from '../../ui/button';
import { CopyAs } from '../../ui/copy-as';
import { type Column, PagedTable } from '../../ui/data-table';
import { Page } from '../../ui/page';
import { Empty, Forbidden } from '../../ui/states';
import { Time } from '../../ui/time';
import { CreateSecret } from './create-secret';
import { kinds, type Secret } from './secret';
import { SecretDetails } from './secret-details';

export const Route = createLazyRoute('/frame/secrets')({ component: Secrets });

/** Names, kinds and uses of secrets. A value is written and never read. */
function Secrets() {
  const { create, secret } = Route.useSearch();
  const navigate = useNavigate({ from: '/secrets' });
  const [mayRead, mayWrite] = [useAllowed('secrets:read'), useAllowed('secrets:write')];
  const pages = usePages(
    ['secrets'],
    async (cursor, signal) => {
      const answer = await take(
        api.GET('/api/secrets', { params: { query: { limit: 50, cursor } }, signal }),
      );
      return { rows: answer.data, next: answer.next_cursor ?? undefined };
    },
    { enabled: mayRead },
  );
  if (!mayRead) {
    return (
      <Page title="Secrets">
        <Forbidden what="secrets" />
      </Page>
    );
  }
  const open = (next: { readonly create?: true; readonly secret?: string }) =>
    void navigate({ search: next, replace: true });
  return (
    <Page
      title="Secrets"
      description="What agents, tools and triggers need to reach others. A value is stored encrypted and never shown."
      actions={
        <>
          <CopyAs
            request={{ method: 'GET', path: '/api/secrets', mcp: { tool: 'list_secrets', arguments: {} } }}
          />
          {mayWrite && (
            <Button
              kind="primary"
              icon={<Plus size={14} aria-hidden />}
              onClick={() => open({ create: true })}
            >
              Add a secret
            </Button>
          )}
        </>
      }
    >
      <PagedTable
        pages={pages}
        caption="Secrets"
        columns={columnsOf((id) => open({ secret: id }))}
        keyOf={({ id }) => id}
        empty={
          <Empty title="No secrets yet">
            <p>Add the key of a model vendor, or a token that a tool needs.</p>
          </Empty>
        }
      />
      {create === true && mayWrite && <CreateSecret onClose={() => open({})} />}
      {secret !== undefined && <SecretDetails id={secret} onClose={() => open({})} />}
    </Page>
  );
}

function columnsOf(onOpen: (id: string) => void): readonly Column<Secret>[] {
  return [
    {
      title: 'Name',
      cell: ({ id, name }) => (
        <button
          type="button"
          className="text-left font-mono text-accent wrap-anywhere hover:underline"
          onClick={() => onOpen(id)}
        >
          {name}
        </button>
      ),
    },
    {
      title: 'Kind',
      cell: ({ kind, provider }) => (provider === null ? kinds[kind] : `${kinds[kind]}: ${provider}`),
    },
    {
      title: 'Used by',
      cell: ({ references: [first, ...others] }) =>
        first === undefined ? (
          <Badge>not used</Badge>
        ) : (
          <span className="wrap-anywhere">
            <span className="text-muted">{first.type}</span> {first.name}
            {others.length > 0 && ` and ${others.length} more`}
          </span>
        ),
    },
    {
      title: 'Sent to',
      wideOnly: true,
      cell: ({ allowed_hosts: hosts }) => hosts?.join(', ') ?? 'any host',
    },
    { title: 'Version', numeric: true, wideOnly: true, cell: ({ version }) => version },
    { title: 'Changed', wideOnly: true, cell: ({ value_changed_at: at }) => <Time at={at} /> },
  ];
}
