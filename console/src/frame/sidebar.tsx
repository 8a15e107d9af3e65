import { Link } from '@tanstack/react-router';
import { roleAllows } from '../session/permissions';
import { useSession } from '../session/use-session';
import { Brand } from '../ui/brand';
import { entries } from './entries';
import { groups } from '../routing/navigation';

export function Sidebar({ onNavigate }: { readonly onNavigate: () => void }) {
  const { tenants, tenantId } = useSession();
  const role = tenants.find(({ id }) => id === tenantId)?.role;
  const visible = entries.filter(
    ({ permission, paletteOnly }) =>
      paletteOnly !== true &&
      role !== undefined &&
      (permission === undefined || roleAllows(role, permission)),
  );
  return (
    <nav aria-label="Screens" className="flex h-full flex-col overflow-y-auto px-2 pb-4">
      <Link to="/" onClick={onNavigate} className="flex h-12 shrink-0 items-center px-2">
        <Brand />
      </Link>
      {groups.map((group) => {
        const members = visible.filter((entry) => entry.group === group);
        if (members.length === 0) return null;
        return (
          <div key={group} className="mt-1">
            {group !== '' && <h2 className="px-2 pt-3 pb-1 text-xs font-medium text-muted">{group}</h2>}
            <ul>
              {members.map(({ path, title, icon: Icon }) => (
                <li key={path}>
                  <Link
                    to={path}
                    onClick={onNavigate}
                    activeOptions={{ exact: path === '/' }}
                    className="flex h-8 items-center gap-2.5 rounded-md px-2 text-sm"
                    activeProps={{ className: 'bg-accent-soft text-accent font-medium' }}
                    inactiveProps={{ className: 'text-text hover:bg-hover' }}
                  >
                    <Icon size={16} aria-hidden />
                    {title}
                  </Link>
                </li>
              ))}
            </ul>
          </div>
        );
      })}
    </nav>
  );
}
