import { createRoute } from '@tanstack/react-router';
import { ListTree } from 'lucide-react';
import { frameRoute } from '../../routing/frame-route';
import type { NavigationEntry } from '../../routing/navigation';
import { turnsSearchOf } from './search';

const turns = createRoute({
  getParentRoute: () => frameRoute,
  path: '/turns',
  validateSearch: turnsSearchOf,
}).lazy(() => import('./turns').then(({ Route }) => Route));

const turn = createRoute({
  getParentRoute: () => frameRoute,
  path: '/turns/$executionId',
  validateSearch: ({ step }): { readonly step?: number } => (typeof step === 'number' ? { step } : {}),
}).lazy(() => import('./turn').then(({ Route }) => Route));

export const turnsRoutes = [turns, turn] as const;

export const turnsEntries: readonly NavigationEntry[] = [
  {
    title: 'Turns',
    path: '/turns',
    icon: ListTree,
    group: 'Conversations',
    permission: 'executions:read',
    words: 'executions traces runs steps waterfall',
  },
];
