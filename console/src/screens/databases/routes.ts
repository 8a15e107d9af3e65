import type { NavigationEntry } from '../../frame/navigation';

/** The addresses of this screen, children of `frameRoute`. */
export const databasesRoutes = [] as const;

export const databasesEntries: readonly NavigationEntry[] = [];
