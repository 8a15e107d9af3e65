import { Menu } from '@base-ui/react/menu';
import { Check, ChevronsUpDown } from 'lucide-react';
import { useSession } from '../session/use-session';
import { buttonClass } from '../ui/button';
import { cx } from '../ui/cx';
import { menuItemClass, MenuPopup } from '../ui/menu';
import { useOpenTenant } from './open-tenant';

/** The tenant on screen, and the way to others. */
export function TenantSwitch() {
  const { tenants, tenantId } = useSession();
  const openTenant = useOpenTenant();
  const present = tenants.find(({ id }) => id === tenantId);
  if (present === undefined) return null;
  return (
    <Menu.Root>
      <Menu.Trigger
        className={cx(buttonClass('quiet'), 'max-w-56 min-w-0')}
        aria-label={`Tenant: ${present.name}`}
      >
        <span className="truncate">{present.name}</span>
        <ChevronsUpDown size={14} aria-hidden className="shrink-0 text-muted" />
      </Menu.Trigger>
      <MenuPopup>
        {tenants.map(({ id, name, role }) => (
          <Menu.Item
            key={id}
            className={menuItemClass}
            onClick={() => {
              if (id !== tenantId) openTenant(id);
            }}
          >
            <span className="w-4">{id === tenantId && <Check size={14} aria-label="on screen" />}</span>
            <span className="max-w-64 min-w-0 flex-1 truncate">{name}</span>
            <span className="text-xs text-muted">{role}</span>
          </Menu.Item>
        ))}
      </MenuPopup>
    </Menu.Root>
  );
}
