import { createRoute } from '@tanstack/react-router';
import { UserX, Users } from 'lucide-react';
import { frameRoute } from '../../routing/frame-route';
import type { NavigationEntry } from '../../routing/navigation';

export interface ConsumersSearch {
  readonly words?: string;
  readonly blocked?: 'true' | 'false';
}

const consumers = createRoute({
  getParentRoute: () => frameRoute,
  path: '/consumers',
  validateSearch: ({ words, blocked }): ConsumersSearch => ({
    ...(typeof words === 'string' && words !== '' && { words }),
    ...((blocked === 'true' || blocked === 'false') && { blocked }),
  }),
}).lazy(() => import('./consumers').then(({ Route }) => Route));

const consumer = createRoute({ getParentRoute: () => frameRoute, path: '/consumers/$key' }).lazy(() =>
  import('./consumer').then(({ Route }) => Route),
);

const denylist = createRoute({ getParentRoute: () => frameRoute, path: '/denylist' }).lazy(() =>
  import('./denylist').then(({ Route }) => Route),
);

export const consumersRoutes = [consumers, consumer, denylist] as const;

export const consumersEntries: readonly NavigationEntry[] = [
  {
    title: 'Consumers',
    path: '/consumers',
    icon: Users,
    group: 'Conversations',
    permission: 'consumers:read',
    words: 'people persons customers users memory',
  },
  {
    title: 'Denylist',
    path: '/denylist',
    icon: UserX,
    group: 'Conversations',
    permission: 'telemetry:write',
    words: 'denied blocked people consumers',
  },
];
