import type { NavigationEntry } from '../../frame/navigation';

/** The addresses of this screen, children of `frameRoute`. */
export const operatorRoutes = [] as const;

export const operatorEntries: readonly NavigationEntry[] = [];
