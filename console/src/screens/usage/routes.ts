import { createRoute } from '@tanstack/react-router';
import { ChartColumn } from 'lucide-react';
import { frameRoute } from '../../routing/frame-route';
import type { NavigationEntry } from '../../routing/navigation';

export const spans = [7, 30, 90] as const;
export const groupings = ['agent', 'model', 'key', 'user', 'source', 'payer', 'day'] as const;
export type Grouping = (typeof groupings)[number];

const usage = createRoute({
  getParentRoute: () => frameRoute,
  path: '/usage',
  validateSearch: ({ days, by }): { readonly days?: (typeof spans)[number]; readonly by?: Grouping } => ({
    days: spans.find((one) => one === days),
    by: groupings.find((one) => one === by),
  }),
}).lazy(() => import('./usage').then(({ Route }) => Route));

/** The addresses of this screen, children of `frameRoute`. */
export const usageRoutes = [usage] as const;

export const usageEntries: readonly NavigationEntry[] = [
  {
    title: 'Usage and cost',
    path: '/usage',
    icon: ChartColumn,
    group: 'Observe',
    permission: 'billing:read',
    words: 'billing budget tokens spending money csv',
  },
];
