import { type Column, DataTable } from '../../ui/data-table';
import { count, dollars, percent } from '../../ui/numbers';
import { Loaded } from '../../ui/states';
import type { UsageGroup, useUsage } from './figures';
import type { Grouping } from './routes';

const columnsOf = (by: Grouping, total: number): readonly Column<UsageGroup>[] => [
  {
    title: by[0]?.toUpperCase() + by.slice(1),
    cell: ({ label, key }) => <span className="wrap-anywhere">{label === '' ? key || 'none' : label}</span>,
  },
  { title: 'Cost', numeric: true, cell: ({ cost }) => dollars(cost) },
  {
    title: 'Share',
    numeric: true,
    wideOnly: true,
    cell: ({ cost }) => <Share share={total === 0 ? undefined : cost / total} />,
  },
  { title: 'Calls', numeric: true, cell: ({ calls }) => count(calls) },
  {
    title: 'Input tokens',
    numeric: true,
    wideOnly: true,
    cell: ({ input_tokens: tokens }) => count(tokens),
  },
  {
    title: 'Output tokens',
    numeric: true,
    wideOnly: true,
    cell: ({ output_tokens: tokens }) => count(tokens),
  },
];

/** The bar says at a glance what the number says exactly. */
function Share({ share }: { readonly share: number | undefined }) {
  if (share === undefined) return '—';
  return (
    <span className="flex items-center justify-end gap-2 whitespace-nowrap">
      <span aria-hidden className="h-1.5 w-16 overflow-hidden rounded-full bg-hover">
        <span className="block h-full rounded-full bg-accent" style={{ width: `${share * 100}%` }} />
      </span>
      <span className="w-14">{percent(share * 100)}</span>
    </span>
  );
}

/** Most expensive first; days by date. */
export function GroupTable({
  query,
  by,
}: {
  readonly query: ReturnType<typeof useUsage>;
  readonly by: Grouping;
}) {
  return (
    <Loaded query={query}>
      {({ groups, total }) =>
        groups.length === 0 ? (
          <p className="text-sm text-muted">No calls in this period.</p>
        ) : (
          <DataTable
            caption={`Usage by ${by}`}
            columns={columnsOf(by, total.cost)}
            rows={by === 'day' ? groups : groups.toSorted((a, b) => b.cost - a.cost || b.calls - a.calls)}
            keyOf={({ key }) => key}
          />
        )
      }
    </Loaded>
  );
}
