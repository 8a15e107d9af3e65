import { createRoute } from '@tanstack/react-router';
import { Settings } from 'lucide-react';
import { frameRoute } from '../../routing/frame-route';
import type { NavigationEntry } from '../../routing/navigation';

const settings = createRoute({ getParentRoute: () => frameRoute, path: '/settings' }).lazy(() =>
  import('./settings').then(({ Route }) => Route),
);

/** The addresses of this screen, children of `frameRoute`. */
export const settingsRoutes = [settings] as const;

export const settingsEntries: readonly NavigationEntry[] = [
  {
    title: 'Settings',
    path: '/settings',
    icon: Settings,
    group: 'Tenant',
    permission: 'tenants:update',
    words: 'budget retention name days kept model alias names export download delete tenant',
  },
];
