import { createRoute } from '@tanstack/react-router';
import { House } from 'lucide-react';
import { frameRoute } from '../../frame/frame-route';
import type { NavigationEntry } from '../../frame/navigation';

const overview = createRoute({ getParentRoute: () => frameRoute, path: '/' }).lazy(() =>
  import('./overview').then(({ Route }) => Route),
);

export const overviewRoutes = [overview] as const;

export const overviewEntries: readonly NavigationEntry[] = [
  { title: 'Overview', path: '/', icon: House, group: '', words: 'home dashboard' },
];
