import { useState } from 'react';
import { take } from '../../../api/client';
import { Button } from '../../../ui/button';
import { Confirm } from '../../../ui/confirm';
import { CopyButton } from '../../../ui/copy-button';
import { type Column, DataTable } from '../../../ui/data-table';
import { Dialog } from '../../../ui/dialog';
import { count, percent } from '../../../ui/numbers';
import { Facts } from '../../../ui/page';
import { Empty } from '../../../ui/states';
import { duration } from '../../../ui/time';
import { succeeded } from '../../../ui/toasts';
import { operatorApi, useRefresh } from '../operator-session';
import { type Cluster, type ClusterNode, kindName, nodesOf, shortName } from './cluster-data';
import { Lateness, Standing, waitingText } from './node-table';

/** One node whole, which goes on changing while it is open. */
export function NodeDetails({
  process,
  cluster,
  onClose,
}: {
  readonly process: string;
  readonly cluster: Cluster;
  readonly onClose: () => void;
}) {
  const node = nodesOf(cluster).find((one) => one.process === process);
  return (
    <Dialog open onClose={onClose} title={shortName(process)} wide>
      {node === undefined ? (
        <Empty title="The node is gone">
          <p>What moved says when it left the ring, and why.</p>
        </Empty>
      ) : (
        <div className="flex flex-col gap-5">
          <NodeFacts node={node} cluster={cluster} />
          <Figures
            caption="Actors in memory by kind"
            name="Kind"
            figures={Object.entries(node.actors)
              .filter(([, figure]) => figure > 0)
              .map(([kind, figure]) => [kindName(kind), figure])}
          />
          <Epochs node={node} />
          <Figures
            caption="Counts since the start of the process"
            name="Count"
            figures={Object.entries(node.counts).filter(([, figure]) => figure > 0)}
          />
          <Drain process={process} isOffered={node.standing === 'member' && cluster.nodes.length > 1} />
        </div>
      )}
    </Dialog>
  );
}

function NodeFacts({ node, cluster }: { readonly node: ClusterNode; readonly cluster: Cluster }) {
  const { mailboxes, loop_lag: lag, view } = node;
  return (
    <Facts
      facts={[
        ['Standing', <Standing key="standing" standing={node.standing} />],
        [
          'Process',
          <span key="process" className="flex items-center gap-1 font-mono text-xs">
            {node.process}
            <CopyButton text={node.process} label="Copy the id of the process" />
          </span>,
        ],
        ['Address', node.address === '' ? '—' : node.address],
        ['Roles', node.roles.join(', ')],
        ['Slots', `${count(node.slots)} (${percent((node.slots / Math.max(1, cluster.slots)) * 100)})`],
        [
          'View',
          view === null ? '—' : `${view.number}${view.number < cluster.view.number ? ', behind' : ''}`,
        ],
        ['Lease', node.lease_age_ms === null ? '—' : `renewed ${duration(node.lease_age_ms)} ago`],
        [
          'Actors',
          `${count(node.residents)} in memory, ${count(mailboxes.busy)} busy, ${count(mailboxes.loading)} loading`,
        ],
        ['Mailboxes', `${waitingText(mailboxes)} waiting`],
        ['Without owner', `${count(mailboxes.waiting_for_owner)} calls`],
        [
          'Lateness',
          lag === null ? (
            '—'
          ) : (
            <span key="lateness">
              p99 <Lateness node={node} />, median {duration(lag.p50_ms)}, most {duration(lag.max_ms)}
            </span>
          ),
        ],
        ['Links', `${count(node.links.open)} open, ${count(node.links.in_flight)} calls in flight`],
      ]}
    />
  );
}

type Figure = readonly [name: string, figure: number];

const figureColumns = (name: string): readonly Column<Figure>[] => [
  { title: name, cell: ([one]) => <span className="wrap-anywhere">{one.replaceAll('_', ' ')}</span> },
  { title: 'Number', numeric: true, cell: ([, figure]) => count(Math.round(figure)) },
];

function Figures({
  caption,
  name,
  figures,
}: {
  readonly caption: string;
  readonly name: string;
  readonly figures: readonly Figure[];
}) {
  if (figures.length === 0) return null;
  return (
    <section className="flex flex-col gap-2">
      <h3 className="text-sm font-semibold">{caption}</h3>
      <DataTable caption={caption} rows={figures} keyOf={([one]) => one} columns={figureColumns(name)} />
    </section>
  );
}

const epochColumns: readonly Column<ClusterNode['epochs'][number]>[] = [
  {
    title: 'Actor',
    cell: ({ kind, key }) => <span className="wrap-anywhere">{`${kindName(kind)} ${key}`}</span>,
  },
  {
    title: 'Group',
    wideOnly: true,
    cell: ({ group }) => <span className="font-mono text-xs wrap-anywhere">{group}</span>,
  },
  { title: 'Epoch', numeric: true, cell: ({ epoch }) => count(epoch) },
];

function Epochs({ node: { epochs } }: { readonly node: ClusterNode }) {
  if (epochs.length === 0) return null;
  return (
    <section className="flex flex-col gap-2">
      <h3 className="text-sm font-semibold">Epochs of actors, used last first</h3>
      <DataTable
        caption="Epochs of actors"
        rows={epochs}
        keyOf={({ kind, group, key }) => `${kind} ${group} ${key}`}
        columns={epochColumns}
      />
    </section>
  );
}

/** What is asked already stays while the node is listed, whatever a reading says of it: the server decides. */
function Drain({ process, isOffered }: { readonly process: string; readonly isOffered: boolean }) {
  const [asked, setAsked] = useState(false);
  const refresh = useRefresh('cluster');
  if (!isOffered && !asked) return null;
  return (
    <div className="flex flex-wrap items-center gap-3 border-t border-line pt-4">
      <p className="min-w-0 flex-1 basis-60 text-sm text-muted">
        Its running turns finish, the other nodes take over its actors, and its process ends.
      </p>
      <Button kind="danger" onClick={() => setAsked(true)}>
        Drain
      </Button>
      <Confirm
        open={asked}
        onClose={() => setAsked(false)}
        title={`Drain ${shortName(process)}?`}
        verb="Drain"
        action={async () => {
          const params = { path: { process } };
          await take(operatorApi.POST('/api/v1/cluster/nodes/{process}/drain', { params }));
          succeeded('The node leaves', 'It is listed as leaving until its turns have ended.');
          await refresh();
        }}
      >
        It takes no new work, and its process ends once its turns have. A supervisor may start it again as a
        new process.
      </Confirm>
    </div>
  );
}
