import { Badge, type Tone } from '../../../ui/badge';
import { cx } from '../../../ui/cx';
import { type Column, DataTable } from '../../../ui/data-table';
import { count, percent } from '../../../ui/numbers';
import { duration } from '../../../ui/time';
import { type Cluster, type ClusterNode, nodesOf, partColour, shortName } from './cluster-data';

const tones: Readonly<Record<string, Tone>> = {
  member: 'good',
  joining: 'accent',
  confirmed_by_peers: 'warn',
  leaving: 'warn',
  fenced: 'bad',
  left: 'neutral',
  unreachable: 'bad',
};

export function Standing({ standing }: { readonly standing: string }) {
  return <Badge tone={tones[standing] ?? 'neutral'}>{standing.replaceAll('_', ' ')}</Badge>;
}

/** Members of the ring, and nodes that leave it. */
export function NodeTable({
  cluster,
  onOpen,
}: {
  readonly cluster: Cluster;
  readonly onOpen: (process: string) => void;
}) {
  return (
    <DataTable
      caption="Nodes"
      rows={nodesOf(cluster)}
      keyOf={({ process }) => process}
      columns={columnsOf(cluster, onOpen)}
    />
  );
}

function columnsOf(cluster: Cluster, onOpen: (process: string) => void): readonly Column<ClusterNode>[] {
  return [
    { title: 'Node', cell: (node) => <Name node={node} cluster={cluster} onOpen={onOpen} /> },
    {
      title: 'Standing',
      cell: ({ standing, residents }) => (
        <span className="flex flex-wrap items-center gap-1">
          <Standing standing={standing} />
          {standing === 'leaving' && (
            <span className="text-xs whitespace-nowrap text-muted">{count(residents)} actors left</span>
          )}
        </span>
      ),
    },
    {
      title: 'Slots',
      numeric: true,
      cell: ({ slots }) => (
        <span className="whitespace-nowrap">
          {count(slots)}{' '}
          <span className="text-muted">{percent((slots / Math.max(1, cluster.slots)) * 100)}</span>
        </span>
      ),
    },
    { title: 'Actors', numeric: true, wideOnly: true, cell: ({ residents }) => count(residents) },
    { title: 'Busy', numeric: true, wideOnly: true, cell: ({ mailboxes }) => count(mailboxes.busy) },
    {
      title: 'Mailboxes',
      numeric: true,
      wideOnly: true,
      cell: ({ mailboxes }) => <span className="whitespace-nowrap">{waitingText(mailboxes)}</span>,
    },
    { title: 'Lateness', numeric: true, wideOnly: true, cell: (node) => <Lateness node={node} /> },
    {
      title: 'Lease',
      numeric: true,
      wideOnly: true,
      cell: ({ lease_age_ms: ageMs }) =>
        ageMs === null ? (
          <span className="text-muted">—</span>
        ) : (
          <span className="whitespace-nowrap">{duration(ageMs)}</span>
        ),
    },
  ];
}

function Name({
  node: { process },
  cluster,
  onOpen,
}: {
  readonly node: ClusterNode;
  readonly cluster: Cluster;
  readonly onOpen: (process: string) => void;
}) {
  const place = cluster.nodes.findIndex((one) => one.process === process);
  return (
    <span className="flex items-center gap-2">
      <span
        className="size-3 shrink-0 rounded-sm border border-line"
        style={place < 0 ? {} : { background: partColour(place) }}
        aria-hidden
      />
      {place >= 0 && <span className="text-muted tabular-nums">{place + 1}</span>}
      <button
        type="button"
        title={process}
        className="text-left font-mono text-accent wrap-anywhere hover:underline"
        onClick={() => onOpen(process)}
      >
        {shortName(process)}
      </button>
      {process === cluster.process && (
        <span className="max-xl:hidden">
          <Badge>answers here</Badge>
        </span>
      )}
    </span>
  );
}

export const waitingText = ({ waiting, oldest_waiting_ms: oldestMs }: ClusterNode['mailboxes']): string =>
  waiting === 0 ? '0' : `${count(waiting)}, oldest ${duration(oldestMs)}`;

/** From here on people notice it; half a second makes a node refuse its newest work. */
const lateMs = 100;

export function Lateness({ node: { loop_lag: lag } }: { readonly node: ClusterNode }) {
  if (lag === null) return <span className="text-muted">—</span>;
  return (
    <span
      className={cx('whitespace-nowrap', lag.p99_ms > lateMs && 'text-warn')}
      title={`Median ${duration(lag.p50_ms)}, most ${duration(lag.max_ms)}`}
    >
      {duration(lag.p99_ms)}
    </span>
  );
}
