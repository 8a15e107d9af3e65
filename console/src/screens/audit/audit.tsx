import { createLazyRoute, useNavigate } from '@tanstack/react-router';
import { api, take } from '../../api/client';
import { usePages } from '../../api/queries';
import { withQuery } from '../../api/with-query';
import { useAllowed } from '../../session/use-session';
import { Badge } from '../../ui/badge';
import { CopyAs } from '../../ui/copy-as';
import { type Column, PagedTable } from '../../ui/data-table';
import { Filters, FilterText } from '../../ui/filters';
import { LivenessMark } from '../../ui/liveness-mark';
import { Page } from '../../ui/page';
import { Empty, Forbidden } from '../../ui/states';
import { Time } from '../../ui/time';
import type { Entry } from './entry';
import { EntryDetails } from './entry-details';
import type { AuditSearch } from './routes';

export const Route = createLazyRoute('/frame/audit')({ component: Audit });

/** Who changed what, newest first. */
function Audit() {
  const { entry, ...filter } = Route.useSearch();
  const navigate = useNavigate({ from: '/audit' });
  const mayRead = useAllowed('audit:read');
  const pages = usePages(
    ['audit', filter],
    async (cursor, signal) => {
      const query = { ...filter, limit: 50, cursor };
      const answer = await take(api.GET('/api/v1/audit', { params: { query }, signal }));
      return { rows: answer.data, next: answer.next_cursor ?? undefined };
    },
    { enabled: mayRead, live: true },
  );
  if (!mayRead) {
    return (
      <Page title="Audit">
        <Forbidden what="the audit" />
      </Page>
    );
  }
  const open = (next: AuditSearch) => void navigate({ search: { ...filter, ...next }, replace: true });
  const isFiltered = Object.values(filter).some((value) => value !== undefined);
  const shown = pages.rows.find(({ id }) => id === entry);
  return (
    <Page
      title="Audit"
      description="Who changed what, from where, and what was refused."
      actions={
        <>
          <LivenessMark liveness={pages.liveness} />
          <CopyAs request={{ method: 'GET', path: withQuery('/api/v1/audit', filter) }} />
        </>
      }
    >
      <Filters>
        <FilterText label="Action" value={filter.action} onChange={(action) => open({ action })} />
        <FilterText label="Actor id" value={filter.actor} onChange={(actor) => open({ actor })} />
        <FilterText label="Target id" value={filter.target} onChange={(target) => open({ target })} />
      </Filters>
      <PagedTable
        pages={pages}
        caption="Entries of the audit"
        columns={columnsOf((id) => open({ entry: id }))}
        keyOf={({ id }) => id}
        empty={
          <Empty title={isFiltered ? 'No entry matches' : 'Nothing was changed yet'}>
            <p>Each change of agents, keys, members and settings is kept here.</p>
          </Empty>
        }
      />
      {shown !== undefined && <EntryDetails entry={shown} onClose={() => open({})} />}
    </Page>
  );
}

function columnsOf(onOpen: (id: string) => void): readonly Column<Entry>[] {
  return [
    {
      title: 'Action',
      cell: ({ id, action }) => (
        <button
          type="button"
          className="text-left font-mono text-accent wrap-anywhere hover:underline"
          onClick={() => onOpen(id)}
        >
          {action}
        </button>
      ),
    },
    {
      title: 'Who',
      cell: ({ actor: { kind, name } }) => (
        <span className="wrap-anywhere">
          {name} <span className="text-muted">{kind}</span>
        </span>
      ),
    },
    {
      title: 'What',
      wideOnly: true,
      cell: ({ target: { kind, name, id } }) => (
        <span className="wrap-anywhere">
          <span className="text-muted">{kind}</span> {name ?? id}
        </span>
      ),
    },
    {
      title: 'Outcome',
      wideOnly: true,
      cell: ({ outcome }) => <Badge tone={outcome === 'done' ? 'good' : 'bad'}>{outcome}</Badge>,
    },
    { title: 'When', cell: ({ at }) => <Time at={at} /> },
  ];
}
