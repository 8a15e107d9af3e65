import { createRoute } from '@tanstack/react-router';
import { Users } from 'lucide-react';
import { frameRoute } from '../../routing/frame-route';
import type { NavigationEntry } from '../../routing/navigation';

const members = createRoute({
  getParentRoute: () => frameRoute,
  path: '/members',
  validateSearch: ({ invite }): { readonly invite?: true } => ({
    invite: invite === true ? true : undefined,
  }),
}).lazy(() => import('./members').then(({ Route }) => Route));

/** The addresses of this screen, children of `frameRoute`. */
export const membersRoutes = [members] as const;

export const membersEntries: readonly NavigationEntry[] = [
  {
    title: 'Members',
    path: '/members',
    icon: Users,
    group: 'Access',
    permission: 'members:read',
    words: 'people team invite role',
  },
];
