import { createRoute } from '@tanstack/react-router';
import { LockKeyhole } from 'lucide-react';
import { frameRoute } from '../../routing/frame-route';
import type { NavigationEntry } from '../../routing/navigation';

const secrets = createRoute({
  getParentRoute: () => frameRoute,
  path: '/secrets',
  validateSearch: ({ create, secret }): { readonly create?: true; readonly secret?: string } => ({
    create: create === true ? true : undefined,
    secret: typeof secret === 'string' ? secret : undefined,
  }),
}).lazy(() => import('./secrets').then(({ Route }) => Route));

/** The addresses of this screen, children of `frameRoute`. */
export const secretsRoutes = [secrets] as const;

export const secretsEntries: readonly NavigationEntry[] = [
  {
    title: 'Secrets',
    path: '/secrets',
    icon: LockKeyhole,
    group: 'Access',
    permission: 'secrets:read',
    words: 'vendor key password credential rotate',
  },
];
