import { createRoute } from '@tanstack/react-router';
import { KeyRound } from 'lucide-react';
import { frameRoute } from '../../routing/frame-route';
import type { NavigationEntry } from '../../routing/navigation';

const keys = createRoute({
  getParentRoute: () => frameRoute,
  path: '/keys',
  validateSearch: ({ create, key }): { readonly create?: true; readonly key?: string } => ({
    create: create === true ? true : undefined,
    key: typeof key === 'string' ? key : undefined,
  }),
}).lazy(() => import('./keys').then(({ Route }) => Route));

/** The addresses of this screen, children of `frameRoute`. */
export const keysRoutes = [keys] as const;

export const keysEntries: readonly NavigationEntry[] = [
  {
    title: 'Keys',
    path: '/keys',
    icon: KeyRound,
    group: 'Access',
    permission: 'keys:read',
    words: 'api key token revoke',
  },
];
