import { createLazyRoute } from '@tanstack/react-router';
import { CopyAs } from '../../../ui/copy-as';
import { LivenessMark } from '../../../ui/liveness-mark';
import { count } from '../../../ui/numbers';
import { Card, Page } from '../../../ui/page';
import { Loaded } from '../../../ui/states';
import { duration } from '../../../ui/time';
import { type Cluster, nodesOf, useCluster } from './cluster-data';
import { History } from './history';
import { NodeDetails } from './node-details';
import { NodeTable } from './node-table';
import { RingDrawing } from './ring-drawing';

export const Route = createLazyRoute('/operator/')({ component: ClusterScreen });

/** The nodes and what they own, as it changes. */
function ClusterScreen() {
  const { node } = Route.useSearch();
  const navigate = Route.useNavigate();
  const { query, liveness } = useCluster();
  const open = (process: string | undefined): void =>
    void navigate({ search: { node: process }, replace: true });
  return (
    <Page
      title="Cluster"
      description="Which node owns which part of the actors, how busy it is, and what moved."
      actions={
        <>
          <LivenessMark liveness={liveness} />
          <CopyAs request={{ method: 'GET', path: '/api/v1/cluster', operator: true }} />
        </>
      }
    >
      <Loaded query={query}>
        {(data) => (
          <>
            {query.isError && (
              <p role="alert" className="rounded-md bg-warn-soft px-3 py-2 text-sm text-warn">
                No node answers: {query.error.message} What you see was read before.
              </p>
            )}
            <div className="grid min-w-0 items-start gap-4 lg:grid-cols-[17rem_minmax(0,1fr)]">
              <Card title="Ring of slots">
                <RingDrawing cluster={data} />
              </Card>
              <div className="flex min-w-0 flex-col gap-3">
                <NodeTable cluster={data} onOpen={open} />
                <Sums cluster={data} />
              </div>
            </div>
            <Card title="What moved">
              <History changes={data.changes} />
            </Card>
            {node !== undefined && (
              <NodeDetails process={node} cluster={data} onClose={() => open(undefined)} />
            )}
          </>
        )}
      </Loaded>
    </Page>
  );
}

function Sums({ cluster }: { readonly cluster: Cluster }) {
  const nodes = nodesOf(cluster);
  const sum = (figure: (node: (typeof nodes)[number]) => number): number =>
    nodes.reduce((total, node) => total + figure(node), 0);
  const oldestMs = Math.max(0, ...nodes.map(({ mailboxes }) => mailboxes.oldest_waiting_ms));
  return (
    <p className="text-sm text-muted">
      {count(sum(({ residents }) => residents))} actors in memory,{' '}
      {count(sum(({ mailboxes }) => mailboxes.busy))} busy; {count(sum(({ mailboxes }) => mailboxes.waiting))}{' '}
      calls wait in mailboxes
      {oldestMs > 0 && `, the oldest for ${duration(oldestMs)}`};{' '}
      {count(sum(({ mailboxes }) => mailboxes.waiting_for_owner))} wait for an owner.
    </p>
  );
}
