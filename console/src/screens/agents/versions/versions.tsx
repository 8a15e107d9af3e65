import { getRouteApi } from '@tanstack/react-router';
import { useState } from 'react';
import { api, take } from '../../../api/client';
import { queries, useKey, usePages } from '../../../api/queries';
import { useAllowed } from '../../../session/use-session';
import { Badge } from '../../../ui/badge';
import { Button } from '../../../ui/button';
import { Confirm } from '../../../ui/confirm';
import { type Column, PagedTable } from '../../../ui/data-table';
import { Empty, Forbidden } from '../../../ui/states';
import { Time } from '../../../ui/time';
import { failed, succeeded } from '../../../ui/toasts';
import type { Agent, Version } from '../types';
import { Comparison } from './comparison';

const route = getRouteApi('/frame/agents/$agentId');

function columnsOf(
  served: number | null,
  compared: number | undefined,
  compare: (version: number) => void,
  rollBack: ((version: Version) => void) | undefined,
): readonly Column<Version>[] {
  return [
    {
      title: 'Version',
      cell: ({ version }) => (
        <span className="flex items-center gap-2">
          {version}
          {version === served && <Badge tone="good">serves</Badge>}
        </span>
      ),
    },
    { title: 'Name', cell: ({ name }) => name, wideOnly: true },
    { title: 'Stored', cell: ({ created_at: at }) => <Time at={at} /> },
    {
      title: 'Actions',
      numeric: true,
      cell: (version) => (
        <span className="flex justify-end gap-1.5">
          <Button aria-pressed={compared === version.version} onClick={() => compare(version.version)}>
            Compare
          </Button>
          {rollBack !== undefined && <Button onClick={() => rollBack(version)}>Roll back</Button>}
        </span>
      ),
    },
  ];
}

export function Versions({ agent }: { readonly agent: Agent }) {
  if (!useAllowed('versions:read')) return <Forbidden what="versions" />;
  return <List agent={agent} />;
}

function List({ agent }: { readonly agent: Agent }) {
  const { version: from, against: to } = route.useSearch();
  const navigate = route.useNavigate();
  const [back, setBack] = useState<Version>();
  const agentsKey = useKey('agents');
  const mayCreate = useAllowed('versions:create') && agent.status !== 'archived';
  const mayRollBack = useAllowed('versions:rollback') && agent.status !== 'archived';
  const path = { id: agent.id };
  const pages = usePages<Version>(['agents', agent.id, 'versions'], async (cursor, signal) => {
    const query = { limit: 50, ...(cursor !== undefined && { cursor: Number(cursor) }) };
    const { data, next_cursor: next } = await take(
      api.GET('/api/agents/{id}/versions', { params: { path, query }, signal }),
    );
    return { rows: data, next: next ?? undefined };
  });
  const refresh = () => queries.invalidateQueries({ queryKey: agentsKey });
  const snapshot = (): void => {
    take(api.POST('/api/agents/{id}/versions', { params: { path }, body: {} })).then(
      ({ data }) => {
        succeeded(`Version ${data.version} is stored`, 'It does not serve.');
        return refresh();
      },
      (error: unknown) => failed('Storing a version failed', error),
    );
  };
  const compare = (version: number) => void navigate({ search: { tab: 'versions', version }, replace: true });
  return (
    <div className="flex flex-col gap-4">
      <div className="flex flex-wrap items-center justify-between gap-2">
        <p className="text-sm text-muted">
          Each publication stores a version. Compare them, and go back to one.
        </p>
        {mayCreate && <Button onClick={snapshot}>Store a version</Button>}
      </div>
      <PagedTable
        pages={pages}
        caption="Versions"
        keyOf={({ version }) => String(version)}
        empty={
          <Empty title="No version yet">
            <p>The first publication stores one.</p>
          </Empty>
        }
        columns={columnsOf(agent.published_version, from, compare, mayRollBack ? setBack : undefined)}
      />
      {from !== undefined && <Comparison agent={agent} from={from} to={to} versions={pages.rows} />}
      <Confirm
        open={back !== undefined}
        onClose={() => setBack(undefined)}
        title={`Roll back to version ${back?.version ?? ''}?`}
        verb="Roll back"
        danger={false}
        action={async () => {
          if (back === undefined) return;
          const { data } = await take(
            api.POST('/api/agents/{id}/versions/{version}/rollback', {
              params: { path: { ...path, version: String(back.version) } },
            }),
          );
          await refresh();
          succeeded(`Version ${data.version} has the content of version ${back.version}`);
        }}
      >
        The working copy becomes what version {back?.version} was, as a new version
        {agent.status === 'published' ? ', which serves at once.' : '.'}
      </Confirm>
    </div>
  );
}
