import { type Column, DataTable } from '../../ui/data-table';
import { count, dollars, percent } from '../../ui/numbers';
import { Loaded } from '../../ui/states';
import { type Range, type UsageGroup, useUsage } from './figures';
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
    cell: ({ cost }) => (total === 0 ? '—' : percent((cost / total) * 100)),
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

/** Most expensive first; days by date. */
export function GroupTable({ range, by }: { readonly range: Range; readonly by: Grouping }) {
  const query = useUsage(range, by);
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
