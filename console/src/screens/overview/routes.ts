import { createRoute } from '@tanstack/react-router';
import { House } from 'lucide-react';
import { frameRoute } from '../../routing/frame-route';
import type { NavigationEntry } from '../../routing/navigation';

const overview = createRoute({ getParentRoute: () => frameRoute, path: '/' }).lazy(() =>
  import('./overview').then(({ Route }) => Route),
);

export const overviewRoutes = [overview] as const;

export const overviewEntries: readonly NavigationEntry[] = [
  { title: 'Overview', path: '/', icon: House, group: '', words: 'home dashboard' },
];
