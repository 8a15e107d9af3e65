import { createRoute } from '@tanstack/react-router';
import { Database } from 'lucide-react';
import { frameRoute } from '../../routing/frame-route';
import type { NavigationEntry } from '../../routing/navigation';

export const databaseTabs = ['schema', 'connection', 'uses'] as const;
export type DatabaseTab = (typeof databaseTabs)[number];

const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

const databases = createRoute({
  getParentRoute: () => frameRoute,
  path: '/databases',
  validateSearch: ({ deleted }): { readonly deleted?: true } => ({
    deleted: deleted === true ? true : undefined,
  }),
}).lazy(() => import('./databases').then(({ Route }) => Route));

const newDatabase = createRoute({ getParentRoute: () => frameRoute, path: '/databases/new' }).lazy(() =>
  import('./new-database').then(({ Route }) => Route),
);

const database = createRoute({
  getParentRoute: () => frameRoute,
  path: '/databases/$databaseId',
  validateSearch: ({
    tab,
    search,
    table,
  }): { readonly tab?: DatabaseTab; readonly search?: string; readonly table?: string } => ({
    tab: databaseTabs.find((one) => one === tab),
    search: text(search),
    table: text(table),
  }),
}).lazy(() => import('./database').then(({ Route }) => Route));

/** The addresses of this screen, children of `frameRoute`. */
export const databasesRoutes = [databases, newDatabase, database] as const;

export const databasesEntries: readonly NavigationEntry[] = [
  {
    title: 'Databases',
    path: '/databases',
    icon: Database,
    group: 'Build',
    permission: 'databases:read',
    words: 'postgresql tables schema columns connection',
  },
];
