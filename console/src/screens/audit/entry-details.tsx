import { Badge } from '../../ui/badge';
import { type Column, DataTable } from '../../ui/data-table';
import { Dialog } from '../../ui/dialog';
import { Facts } from '../../ui/page';
import { Time } from '../../ui/time';
import type { Entry } from './entry';

const valueText = (value: unknown): string =>
  value === undefined || value === null ? '—' : typeof value === 'string' ? value : JSON.stringify(value);

interface Changed {
  readonly field: string;
  readonly old?: unknown;
  readonly new?: unknown;
}

const columns: readonly Column<Changed>[] = [
  { title: 'Field', cell: ({ field }) => <span className="font-mono">{field}</span> },
  { title: 'Before', cell: ({ old }) => <span className="wrap-anywhere">{valueText(old)}</span> },
  { title: 'After', cell: ({ new: now }) => <span className="wrap-anywhere">{valueText(now)}</span> },
];

/** One entry with what it changed. */
export function EntryDetails({ entry, onClose }: { readonly entry: Entry; readonly onClose: () => void }) {
  const { actor, target, changes, outcome } = entry;
  const rows = Object.entries(changes).map(([field, change]) => ({ field, ...change }));
  return (
    <Dialog open onClose={onClose} title={entry.action} wide>
      <div className="flex flex-col gap-4">
        <Facts
          facts={[
            ['When', <Time key="when" at={entry.at} exactly />],
            ['Who', `${actor.name} (${actor.kind})`],
            ['Actor id', actor.id ?? '—'],
            ['What', `${target.kind} ${target.name ?? ''}`],
            ['Target id', target.id ?? '—'],
            ['Address', entry.address ?? '—'],
            ['Request', entry.request_id ?? '—'],
            [
              'Outcome',
              <Badge key="outcome" tone={outcome === 'done' ? 'good' : 'bad'}>
                {outcome}
              </Badge>,
            ],
          ]}
        />
        {rows.length === 0 ? (
          <p className="text-sm text-muted">No fields were changed.</p>
        ) : (
          <DataTable caption="Changed fields" rows={rows} keyOf={({ field }) => field} columns={columns} />
        )}
      </div>
    </Dialog>
  );
}
