import { Link } from '@tanstack/react-router';
import { useAllowed } from '../../session/use-session';
import { Badge } from '../../ui/badge';
import { Empty, Forbidden, Loaded } from '../../ui/states';
import { useUses } from './database-data';

/** Where the database is used: triggers are all that read databases. */
export function Uses({ id }: { readonly id: string }) {
  const uses = useUses(id);
  if (!useAllowed('triggers:read')) return <Forbidden what="triggers" />;
  return (
    <Loaded query={uses}>
      {(triggers) =>
        triggers.length === 0 ? (
          <Empty title="Nothing uses it">
            <p>A trigger for database events starts a turn for each new row.</p>
            <Link to="/triggers/new" search={{ kind: 'database' }} className="text-accent underline">
              Make a trigger
            </Link>
          </Empty>
        ) : (
          <ul className="divide-y divide-line rounded-lg border border-line bg-surface text-sm">
            {triggers.map(({ id: triggerId, name, enabled }) => (
              <li key={triggerId} className="flex flex-wrap items-center gap-2 px-3 py-2">
                <span className="text-muted">trigger</span>
                <Link
                  to="/triggers/$triggerId"
                  params={{ triggerId }}
                  className="min-w-0 wrap-anywhere text-accent hover:underline"
                >
                  {name}
                </Link>
                <Badge tone={enabled ? 'good' : 'neutral'}>{enabled ? 'enabled' : 'disabled'}</Badge>
              </li>
            ))}
          </ul>
        )
      }
    </Loaded>
  );
}
